// Runs three tokens through a model with the Node binding of llama.cpp: llama_node.js ADDON MODEL
"use strict";
const path = require("path");
const [, , addonPath, modelPath] = process.argv;
const addon = require(addonPath);

async function main() {
    addon.loadBackends(path.dirname(addonPath));
    await addon.init();
    const model = new addon.AddonModel(modelPath, { gpuLayers: 0, vocabOnly: false, useMmap: true });
    if (!await model.init()) throw new Error("no model");
    const context = new addon.AddonContext(model, { contextSize: 256, batchSize: 64, sequences: 1, threads: 2 });
    if (!await context.init()) throw new Error("no context");
    context.initBatch(8);
    context.addToBatch(0, 0, Uint32Array.from([3, 4, 5]), Uint32Array.from([2]));
    await context.decodeBatch();
    console.log("decoded");
    await context.dispose();
    await model.dispose();
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
