/*
 * test_broken.c - broken descriptions: each kind must end in SR_DESCRIPTION with its place and its words.
 *
 * Layer: tests.
 *
 * An '@' in a text marks the place that the error must name; it is taken out before the text is loaded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "support/describe_case.h"

typedef struct broken {
    const char *text;
    const char *pointer; /* NULL: not JSON, so that there is none */
    const char *part;    /* of the message */
} broken;

static void check_broken(const broken *b) {
    char *text = strdup(b->text), *mark = strchr(text, '@');
    assert_non_null(mark);
    int line = 1, column = 1;
    for (const char *p = text; p < mark; p++) {
        column = *p == '\n' ? 1 : column + 1;
        line += *p == '\n';
    }
    memmove(mark, mark + 1, strlen(mark));
    sr_error err = {0};
    sr_description *d;
    sr_status status = sr_description_load_text(text, strlen(text), "case.json", NULL, NULL, &d, &err);
    const char *pointer = err.pointer ? err.pointer : "(none)", *expected = b->pointer ? b->pointer : "(none)";
    if (status != SR_DESCRIPTION || d || strcmp(pointer, expected) != 0 || err.line != line || err.column != column ||
        !strstr(sr_error_message(&err), b->part) || !err.file || strcmp(err.file, "case.json") != 0) {
        fail_msg("%s\nexpected %d:%d: %s: ...%s\n     got %s %d:%d: %s: %s", text, line, column, expected, b->part,
                 sr_status_name(status), err.line, err.column, pointer, sr_error_message(&err));
    }
    sr_error_clear(&err);
    /* and without an error object */
    assert_int_equal(sr_description_load_text(text, strlen(text), "case.json", NULL, NULL, &d, NULL), SR_DESCRIPTION);
    free(text);
}

static void check_all(const broken *rows, int n) {
    for (int i = 0; i < n; i++) {
        check_broken(&rows[i]);
    }
}

#define CHECK_ALL(rows) check_all(rows, SR_COUNT(rows))

static void test_syntax(void **state) {
    (void)state;
    static const broken rows[] = {
        {"@", NULL, "the text ends"},
        {"{\"sched_run\":1,\n\"nodes\":[{\"name\":\"x@", NULL, "ends inside a string"},
        {"{\"sched_run\":1@", NULL, "ends inside an object"},
        {"{" MACHINE ",\"nodes\":[]} @trailing", NULL, "text after the end"},
        {"{" MACHINE ",\"nodes\":[],@}", NULL, "a key in quotes"},
        {"{\"sched_run\":@01}", NULL, "begin with a zero"},
        {"{\"sched_run\":@NaN}", NULL, "a value should stand here"},
        {"{\"sched_run\":@-Infinity}", NULL, "not a number"},
        {"{\"name\":\"a@\tb\"}", NULL, "a control character"},
        {"{\"name\":\"@\\ud800\"}", NULL, "surrogate"},
        {"{\"name\":\"@\\u0000\"}", NULL, "\\u0000"},
        {"{\"name\":\"@\xff\"}", NULL, "UTF-8"},
        {"{@'name':1}", NULL, "a key in quotes"},
    };
    CHECK_ALL(rows);
    char deep[1200] = "{\"_x\":";
    memset(deep + 6, '[', 1100);
    deep[6 + 999] = '@';
    deep[6 + 1100] = '\0';
    const broken nested = {deep, NULL, "more than 1000 deep"};
    check_broken(&nested);
}

static void test_top(void **state) {
    (void)state;
    static const broken rows[] = {
        {"@[]", "", "expected an object"},
        {"@{}", "", "no \"sched_run\": 1"},
        {"{\"sched_run\":@2}", "/sched_run", "expected 1"},
        {"{\"sched_run\":@\"1\"}", "/sched_run", "expected 1"},
        {"@{\"sched_run\":1,\"nodes\":[]}", "", "\"backends\" is missing"},
        {"@{" MACHINE "}", "", "there is no graph"},
        {"{" MACHINE ",@\"node\":[]}", "/node", "did you mean \"nodes\"?"},
        {"{" MACHINE ",\"nodes\":[],@\"nodes\":[]}", "/nodes", "stands here twice"},
        {"{" MACHINE ",\"nodes\":@{}}", "/nodes", "expected an array, not an object"},
        {"{" MACHINE ",\"tensors\":@3}", "/tensors", "expected an array, not a number"},
        {"{" MACHINE ",\"nodes\":[],@\"graphs\":{}}", "/graphs", "one or the other"},
        {"{" MACHINE ",\"graphs\":@{}}", "/graphs", "there is no graph"},
        {"{" MACHINE ",\"graphs\":{\"g\":{@\"leafs\":[]}}}", "/graphs/g/leafs", "unknown key"},
        {"{" MACHINE ",\"name\":@1,\"nodes\":[]}", "/name", "expected a string"},
        {"{" MACHINE ",\"unknown_ops\":@\"opaqe\",\"nodes\":[]}", "/unknown_ops", "did you mean opaque?"},
        {"{" MACHINE ",\"include\":@7,\"nodes\":[]}", "/include", "expected a string"},
        {"{" MACHINE ",\"weights\":@\"\",\"nodes\":[]}", "/weights", "empty"},
        {"{" MACHINE ",\"scheduler\":{@\"op_ofload\":true},\"nodes\":[]}", "/scheduler/op_ofload", "\"op_offload\""},
        {"{" MACHINE ",\"scheduler\":{\"graph_size\":@0},\"nodes\":[]}", "/scheduler/graph_size", "less than 1"},
        {"{" MACHINE ",\"scheduler\":{\"parallel\":@1},\"nodes\":[]}", "/scheduler/parallel", "expected true or false"},
        {"{" MACHINE ",\"scheduler\":{\"parallel\":false,\"copies\":@2},\"nodes\":[]}", "/scheduler/copies",
         "2 copies"},
    };
    CHECK_ALL(rows);
}

#define BACKENDS(list) "{\"sched_run\":1,\"nodes\":[],\"backends\":" list "}"
#define CPU "{\"name\":\"CPU\",\"device\":\"cpu\"}"
#define SIM(keys) BACKENDS("[{\"name\":\"G\",\"device\":\"sim\"," keys "}," CPU "]")

static void test_machine(void **state) {
    (void)state;
    static const broken rows[] = {
        {BACKENDS("@{}"), "/backends", "expected an array"},
        {BACKENDS("@[]"), "/backends", "no backends"},
        {BACKENDS("[@1]"), "/backends/0", "expected an object"},
        {BACKENDS("[@{\"name\":\"x\"}]"), "/backends/0", "\"device\" is missing"},
        {BACKENDS("@[{\"name\":\"G\",\"device\":\"sim\"}]"), "/backends", "must be a cpu"},
        {BACKENDS("[{\"name\":\"A\",\"device\":\"sim\"},@{\"name\":\"A\",\"device\":\"sim\"}," CPU "]"), "/backends/1",
         "of that name already"},
        {SIM("@\"aligment\":16"), "/backends/0/aligment", "did you mean \"alignment\"?"},
        {SIM("\"alignment\":@24"), "/backends/0/alignment", "power of two"},
        {SIM("\"alignment\":@-16"), "/backends/0/alignment", "negative"},
        {SIM("\"memory\":@\"8GB\""), "/backends/0/memory", "is no size"},
        {SIM("\"memory\":@\"99999999999GiB\""), "/backends/0/memory", "beyond 2^53"},
        {SIM("\"memory\":@1.5"), "/backends/0/memory", "fraction 1.5"},
        {SIM("\"memory\":@1e999"), "/backends/0/memory", "2^53"},
        {SIM("\"max_buffer_size\":@0"), "/backends/0/max_buffer_size", "0 bytes"},
        {SIM("\"type\":@\"gpuu\""), "/backends/0/type", "did you mean gpu?"},
        {SIM("\"ops\":{@\"denny\":[]}"), "/backends/0/ops/denny", "\"deny\""},
        {SIM("\"ops\":{\"deny\":[@\"MUL_MATT\"]}"), "/backends/0/ops/deny/0", "did you mean MUL_MAT?"},
        {SIM("\"ops\":{\"deny\":[@\"MUL_MAT:q4_k9\"]}"), "/backends/0/ops/deny/0", "unknown type 'q4_k9'"},
        {SIM("\"ops\":{\"deny\":[@7]}"), "/backends/0/ops/deny/0", "an op's name or an object"},
        {SIM("\"ops\":{\"deny\":[{@\"src0.nee0\":1}]}"), "/backends/0/ops/deny/0/src0.nee0", "\"src0.ne0\""},
        {SIM("\"ops\":{\"deny\":[{\"ne0\":{@\"gtt\":1}}]}"), "/backends/0/ops/deny/0/ne0/gtt", "\"gt\""},
        {SIM("\"ops\":{\"deny\":[{\"type\":{@\"lt\":\"f16\"}}]}"), "/backends/0/ops/deny/0/type/lt", "no order"},
        {SIM("\"ops\":{\"deny\":[{\"type\":[\"f16\",@\"f17\"]}]}"), "/backends/0/ops/deny/0/type/1", "unknown type"},
        {SIM("\"offload\":@{}"), "/backends/0/offload", "\"min_batch\" is missing"},
        {SIM("\"accepts\":@\"CPU\""), "/backends/0/accepts", "expected an array"},
        {SIM("\"alloc_extra\":[@{\"op\":\"ADD\"}]"), "/backends/0/alloc_extra/0", "\"bytes\" is missing"},
        {SIM("\"alloc_extra\":[{\"op\":\"ADD\",\"bytes\":@\"ne0*ne9\"}]"), "/backends/0/alloc_extra/0/bytes", "'ne9'"},
        {SIM("\"speed\":{\"flops\":@-1}"), "/backends/0/speed/flops", "not negative"},
        {SIM("\"fail\":{@\"after\":1}"), "/backends/0/fail/after", "unknown key"},
        {BACKENDS("[{\"name\":\"CPU\",\"device\":\"cpu\",@\"memory\":\"1GiB\"}]"), "/backends/0/memory", "takes no"},
        {BACKENDS("@[{\"name\":\"G\",\"device\":\"sim\",\"accepts\":[\"Nope\"]}," CPU "]"), "/backends",
         "unknown buffer type 'Nope'"},
        {"{" MACHINE ",\"nodes\":[],\"buffer_types\":{\"X\":{\"alignment\":@0}}}", "/buffer_types/X/alignment",
         "power of two"},
        {"{" MACHINE ",\"nodes\":[],\"buffer_types\":{\"CPU\":@{}}}", "/buffer_types/CPU", "already"},
        {"{" MACHINE ",\"nodes\":[],\"buffer_types\":{\"X\":{@\"hosts\":1}}}", "/buffer_types/X/hosts", "\"host\""},
    };
    CHECK_ALL(rows);
}

#define BUFFERS(list) "{\"sched_run\":1,\"nodes\":[],\"backends\":[" CPU "],\"buffers\":" list "}"

static void test_buffers_and_placement(void **state) {
    (void)state;
    static const broken rows[] = {
        {BUFFERS("@[]"), "/buffers", "expected an object"},
        {BUFFERS("{\"w\":@{}}"), "/buffers/w", "\"type\" is missing"},
        {BUFFERS("{\"w\":{\"type\":@\"GPU0\"}}"), "/buffers/w/type", "unknown buffer type 'GPU0'"},
        {BUFFERS("{\"w\":{\"type\":\"CPU\",\"usage\":@\"weight\"}}"), "/buffers/w/usage", "did you mean weights?"},
        {BUFFERS("{\"a/b~\":{\"type\":\"CPU\",@\"use\":1}}"), "/buffers/a~1b~0/use", "unknown key"},
        {BUFFERS("{\"w\":{\"type\":\"CPU\"},@\"w\":{\"type\":\"CPU\"}}"), "/buffers/w", "twice"},
        {"{" MACHINE ",\"nodes\":[],\"placement\":[{\"match\":@\"(\",\"buffer\":\"kv\"}]}", "/placement/0/match",
         "no regular expression"},
        {"{" MACHINE ",\"nodes\":[],\"placement\":[{\"match\":\"a\",\"buffer\":@\"kw\"}]}", "/placement/0/buffer",
         "unknown buffer 'kw'"},
        {"{" MACHINE ",\"nodes\":[],\"placement\":[@{\"match\":\"a\"}]}", "/placement/0", "\"buffer\" is missing"},
        {"{" MACHINE
         ",\"tensors\":[{\"name\":\"blk.x\",\"ne\":[1]}],\"placement\":[{\"match\":\"blk.(.)\",\"buffer\":\"kv\","
         "\"where\":@\"m1 > 0\"}]}",
         "/placement/0/where", "for the tensor 'blk.x'"},
    };
    CHECK_ALL(rows);
}

#define LEAF(keys) "{" MACHINE ",\"tensors\":[{\"name\":\"x\"," keys "}]}"
#define I32(data) LEAF("\"type\":\"i32\",\"ne\":[3],\"data\":" data)

static void test_leafs(void **state) {
    (void)state;
    static const broken rows[] = {
        {"{" MACHINE ",\"tensors\":[@{\"ne\":[1]}]}", "/tensors/0", "neither \"name\" nor \"id\""},
        {"{" MACHINE ",\"tensors\":[@{\"id\":\"\",\"ne\":[1]}]}", "/tensors/0", "empty"},
        {"{" MACHINE ",\"tensors\":[@{\"name\":\"x\"}]}", "/tensors/0", "\"ne\" is missing"},
        {"{" MACHINE ",\"tensors\":[{\"name\":\"x\",\"ne\":[1]},\n @{\"name\":\"x\",\"ne\":[1]}]}", "/tensors/1",
         "used twice"},
        {LEAF("@\"op\":\"ADD\""), "/tensors/0/op", "unknown key"},
        {LEAF("\"ne\":@[]"), "/tensors/0/ne", "at least one extent"},
        {LEAF("\"ne\":@[1,2,3,4,5]"), "/tensors/0/ne", "at most 4"},
        {LEAF("\"ne\":@4"), "/tensors/0/ne", "expected an array"},
        {LEAF("\"ne\":[@-4]"), "/tensors/0/ne/0", "-4 is negative"},
        {LEAF("\"ne\":[4,@1.5]"), "/tensors/0/ne/1", "fraction"},
        {LEAF("\"ne\":[@9223372036854775808]"), "/tensors/0/ne/0", "beyond 2^53"},
        {LEAF("\"ne\":[@9007199254740993]"), "/tensors/0/ne/0", "beyond 2^53"},
        {LEAF("\"ne\":[@null]"), "/tensors/0/ne/0", "expected an integer"},
        {LEAF("\"ne\":[@true]"), "/tensors/0/ne/0", "not a boolean"},
        {LEAF("\"ne\":[@\"n_tokens\"]"), "/tensors/0/ne/0", "unknown name 'n_tokens'"},
        {LEAF("\"ne\":[@\"7/2\"]"), "/tensors/0/ne/0", "remainder"},
        {LEAF("\"ne\":[@\"1/0\"]"), "/tensors/0/ne/0", "division by zero"},
        {LEAF("\"ne\":[@\"2*\"]"), "/tensors/0/ne/0", "in the expression '2*'"},
        {LEAF("\"ne\":[@\"4611686018427387904\"]"), "/tensors/0/ne/0", "beyond 2^53"},
        {"{" MACHINE ",\"tensors\":[@{\"name\":\"x\",\"ne\":[4294967296,4294967296,4294967296]}]}", "/tensors/0", "x"},
        {"{" MACHINE ",\"tensors\":[@{\"name\":\"x\",\"ne\":[9007199254740992]}]}", "/tensors/0", "beyond 2^53"},
        {"{" MACHINE ",\"tensors\":[@{\"name\":\"x\",\"type\":\"q4_0\",\"ne\":[33]}]}", "/tensors/0", "x"},
        {LEAF("\"ne\":[4],\"type\":@\"f23\""), "/tensors/0/type", "did you mean f32?"},
        {LEAF("\"ne\":[4,2],\"nb\":@[4]"), "/tensors/0/nb", "1 strides for 2 extents"},
        {LEAF("\"ne\":[4],\"nb\":[@-4]"), "/tensors/0/nb/0", "negative"},
        {LEAF("\"ne\":[4],\"flags\":@\"input\""), "/tensors/0/flags", "expected an array"},
        {LEAF("\"ne\":[4],\"flags\":[\"input\",@\"ouput\"]"), "/tensors/0/flags/1", "did you mean output?"},
        {LEAF("\"ne\":[4],\"buffer\":@\"gpu\""), "/tensors/0/buffer", "unknown buffer 'gpu'"},
        {LEAF("\"ne\":[4],\"backend\":@\"GPU1\""), "/tensors/0/backend", "did you mean GPU0?"},
        {LEAF("\"ne\":[4],\"view\":@{}"), "/tensors/0/view", "\"of\" is missing"},
        {LEAF("\"ne\":[4],\"view\":{\"of\":@\"w\"}"), "/tensors/0/view/of", "unknown tensor 'w'"},
    };
    CHECK_ALL(rows);
}

static void test_data(void **state) {
    (void)state;
    static const broken rows[] = {
        {I32("@7"), "/tensors/0/data", "expected an object"},
        {I32("@{}"), "/tensors/0/data", "expected one of"},
        {I32("@{\"fill\":1,\"values\":[1,2,3]}"), "/tensors/0/data", "expected one of"},
        {I32("{@\"valuse\":[1,2,3]}"), "/tensors/0/data/valuse", "\"values\""},
        {I32("@[1,2]"), "/tensors/0/data", "2 values for 3 elements"},
        {I32("[1,2,@2.5]"), "/tensors/0/data/2", "fraction"},
        {I32("[1,2,@2147483648]"), "/tensors/0/data/2", "does not fit type i32"},
        {I32("{\"values\":[1,@\"nan\",2]}"), "/tensors/0/data/values/1", "unknown name 'nan'"},
        {I32("{\"fill\":@1e300}"), "/tensors/0/data/fill", "2^53"},
        {I32("{\"base64\":@\"AAA\"}"), "/tensors/0/data/base64", "multiple of 4"},
        {I32("{\"base64\":@\"AA?A\"}"), "/tensors/0/data/base64", "no base64 digit"},
        {I32("{\"base64\":@\"AAB=\"}"), "/tensors/0/data/base64", "behind its last byte"},
        {I32("{\"base64\":@\"AAAA\"}"), "/tensors/0/data/base64", "3 bytes for a tensor of 12"},
        {I32("{\"file\":@7}"), "/tensors/0/data/file", "expected a string"},
        {I32("{\"file\":\"x\",\"offset\":@-1}"), "/tensors/0/data/offset", "negative"},
        {I32("{\"fill\":1,@\"offset\":4}"), "/tensors/0/data/offset", "belongs to \"file\""},
        {I32("{\"fill\":1,@\"tensor\":\"x\"}"), "/tensors/0/data/tensor", "belongs to \"gguf\""},
        {I32("{\"random\":@{\"min\":2,\"max\":1}}"), "/tensors/0/data/random", "must not exceed"},
        {I32("{\"random\":{\"seed\":@0.5}}"), "/tensors/0/data/random/seed", "fraction"},
        {LEAF("\"type\":\"iq1_s\",\"ne\":[256],\"data\":{\"fill\":@1}"), "/tensors/0/data/fill",
         "cannot be made from values"},
        {LEAF("\"ne\":[1],\"data\":[@1e999]"), "/tensors/0/data/0", "too large"},
    };
    CHECK_ALL(rows);
}

#define X "\"tensors\":[{\"name\":\"x\",\"ne\":[4,2]}]"
#define NODE(keys) "{" MACHINE "," X ",\"nodes\":[{\"name\":\"y\"," keys "}]}"

static void test_nodes(void **state) {
    (void)state;
    static const broken rows[] = {
        {"{" MACHINE "," X ",\"nodes\":[@{\"name\":\"y\",\"src\":[\"x\"]}]}", "/nodes/0", "\"op\" is missing"},
        {NODE("\"op\":@\"MUL_MATT\""), "/nodes/0/op", "unknown op 'MUL_MATT', did you mean MUL_MAT?"},
        {NODE("\"op\":@\"NONE\""), "/nodes/0/op", "belongs to \"tensors\""},
        {NODE("\"op\":\"SQR\",@\"srcs\":[\"x\"]"), "/nodes/0/srcs", "unknown key, did you mean \"src\"?"},
        {NODE("\"op\":\"SQR\",@\"data\":[]"), "/nodes/0/data", "unknown key"},
        {NODE("\"op\":\"SQR\",\"src\":@\"x\""), "/nodes/0/src", "expected an array"},
        {NODE("\"op\":\"SQR\",\"src\":[@7]"), "/nodes/0/src/0", "expected a string"},
        {NODE("\"op\":\"ADD\",\"src\":[\"x\",@\"xx\"]"), "/nodes/0/src/1", "unknown tensor 'xx'; there are x"},
        {"{" MACHINE ",\"tensors\":[{\"name\":\"mask\",\"ne\":[1]}],\"nodes\":[{\"name\":\"y\",\"op\":\"SQR\",\"src\":["
                     "@\"msak\"]}]}",
         "/nodes/0/src/0", "unknown tensor 'msak', did you mean mask?"},
        {"{" MACHINE "," X ",\"nodes\":[{\"name\":\"y\",\"op\":\"SQR\",\"src\":[@\"z\"]},"
         "{\"name\":\"z\",\"op\":\"SQR\",\"src\":[\"x\"]}]}",
         "/nodes/0/src/0", "'z' comes later"},
        {"{" MACHINE "," X ",\"nodes\":[@{\"name\":\"y\",\"op\":\"SQR\",\"src\":[\"y\"]}]}", "/nodes/0",
         "its own source"},
        {"{" MACHINE "," X ",\"nodes\":[@{\"name\":\"x\",\"op\":\"SQR\",\"src\":[\"x\"]}]}", "/nodes/0", "used twice"},
        {"{" MACHINE "," X ",\"nodes\":[@{\"name\":\"y\",\"op\":\"ADD\",\"src\":[\"x\"]}]}", "/nodes/0", "source 1"},
        {"{" MACHINE "," X ",\"nodes\":[@{\"name\":\"y\",\"op\":\"SQR\",\"src\":[\"x\",\"x\"]}]}", "/nodes/0",
         "at most 1"},
        {NODE("\"op\":\"ADD\",\"src\":@[null,null,null,null,null,null,null,null,null,null,null]"), "/nodes/0/src",
         "at most 10 sources"},
        {"{" MACHINE "," X ",\"nodes\":[@{\"name\":\"y\",\"op\":\"SQR\",\"src\":[\"x\"],\"ne\":[5]}]}", "/nodes/0",
         "SQR"},
        {"{" MACHINE "," X ",\"nodes\":[@{\"name\":\"y\",\"op\":\"VIEW\",\"src\":[\"x\"],\"ne\":[4,2],"
         "\"view\":{\"of\":\"x\",\"offset\":16}}]}",
         "/nodes/0", "y"},
        {"{" MACHINE "," X ",\"nodes\":[@{\"name\":\"y\",\"op\":\"RMS_NORM\",\"src\":[\"x\"]}]}", "/nodes/0", "'eps'"},
        {NODE("\"op\":\"RMS_NORM\",\"src\":[\"x\"],\"params\":{@\"epps\":1}"), "/nodes/0/params/epps", "\"eps\""},
        {NODE("\"op\":\"RMS_NORM\",\"src\":[\"x\"],\"params\":{\"eps\":@true}"), "/nodes/0/params/eps",
         "expected a number"},
        {NODE("\"op\":\"CONCAT\",\"src\":[\"x\",\"x\"],\"params\":{\"dim\":@0.5}"), "/nodes/0/params/dim", "fraction"},
        {NODE("\"op\":\"ADD\",\"src\":[\"x\",\"x\"],\"params\":{@\"eps\":1}"), "/nodes/0/params/eps", "none"},
        {NODE("\"op\":\"ARGSORT\",\"src\":[\"x\"],\"params\":@{\"order\":\"up\"}"), "/nodes/0/params", "'order'"},
        {NODE("\"op\":\"SQR\",\"src\":[\"x\"],\"params\":{},@\"op_params\":[]"), "/nodes/0/op_params", "in one node"},
        {NODE("\"op\":\"SQR\",\"src\":[\"x\"],\"op_params\":[@4294967296]"), "/nodes/0/op_params/0", "not within"},
        {NODE("\"op\":\"SQR\",\"src\":[\"x\"],\"op_params\":@[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"),
         "/nodes/0/op_params", "at most 16 words"},
        {NODE("\"op\":\"SILU\",\"src\":[\"x\"],\"op_params\":@[3]"), "/nodes/0/op_params", "the first word is 3"},
        {NODE("\"op\":\"SQR\",\"src\":[\"x\"],\"compute\":@0"), "/nodes/0/compute", "expected true or false"},
        {NODE("\"op\":\"SQR\",\"src\":[\"x\"],\"supported_by\":@\"CPU\""), "/nodes/0/supported_by",
         "expected an array"},
        {NODE("\"op\":\"RESHAPE\",\"src\":[\"x\"],\"ne\":[8],\"buffer\":@\"kv\""), "/nodes/0/buffer", "a view lies"},
        {"{" MACHINE ",\"unknown_ops\":\"opaque\"," X
         ",\"nodes\":[@{\"name\":\"y\",\"op\":\"NEW_OP\",\"src\":[\"x\"]}]}",
         "/nodes/0", "y"},
        {"{" MACHINE ",\"unknown_ops\":\"opaque\"," X ",\"nodes\":[{\"name\":\"y\",\"op\":\"NEW_OP\",\"ne\":[1],"
         "\"params\":@{\"a\":1}}]}",
         "/nodes/0/params", "no named parameters"},
    };
    CHECK_ALL(rows);
}

#define PARAMS(params, rest) "{" MACHINE ",\"params\":" params ",\"nodes\":[]" rest "}"

static void test_sugar(void **state) {
    (void)state;
    static const broken rows[] = {
        {PARAMS("@[]", ""), "/params", "expected an object"},
        {PARAMS("{@\"a b\":1}", ""), "/params/a b", "letters, digits"},
        {PARAMS("{\"a\":1,@\"a\":2}", ""), "/params/a", "twice"},
        {PARAMS("{\"a\":@true}", ""), "/params/a", "expected a number"},
        {PARAMS("{\"a\":@\"a+1\"}", ""), "/params/a", "depends on itself"},
        {PARAMS("{\"a\":\"b\",\"b\":@\"a\"}", ""), "/params/b", "depends on itself"},
        {PARAMS("{\"a\":@\"c\",\"b\":2}", ""), "/params/a", "unknown name 'c'"},
        {PARAMS("{\"a\":0.5,\"b\":@\"a+1\"}", ""), "/params/b", "the param 'a' is a fraction"},
        {PARAMS("{\"a\":@9007199254740993}", ""), "/params/a", "2^53"},
        {PARAMS("{\"a\":@{\"default\":1}}", ""), "/params/a", "expected \"gguf\""},
        {PARAMS("{\"a\":{\"gguf\":@\"llama.block_count\"}}", ""), "/params/a/gguf", "no weights file"},
        {"{" MACHINE ",\"nodes\":[{\"repeat\":@-1,\"items\":[]}]}", "/nodes/0/repeat", "negative"},
        {"{" MACHINE ",\"nodes\":[@{\"repeat\":2}]}", "/nodes/0", "\"items\" is missing"},
        {"{" MACHINE ",\"nodes\":[{\"repeat\":2,\"items\":@{}}]}", "/nodes/0/items", "expected an array"},
        {"{" MACHINE ",\"nodes\":[{\"repeat\":2,@\"at\":\"il\",\"items\":[]}]}", "/nodes/0/at", "\"as\""},
        {"{" MACHINE ",\"nodes\":[{\"repeat\":2,\"as\":@\"1x\",\"items\":[]}]}", "/nodes/0/as", "letters, digits"},
        {"{" MACHINE ",\"nodes\":[{\"repeat\":2,@\"if\":1,\"items\":[]}]}", "/nodes/0/if", "nest them"},
        {"{" MACHINE ",\"nodes\":[{\"if\":@\"n > 1\",\"items\":[]}]}", "/nodes/0/if", "unknown name 'n'"},
        {"{" MACHINE ",\"nodes\":[{\"if\":1,@\"as\":\"i\",\"items\":[]}]}", "/nodes/0/as", "belongs to a \"repeat\""},
        {"{" MACHINE ",\"tensors\":[{\"repeat\":2,\"as\":\"i\",\"items\":[{\"name\":@\"x{j}\",\"ne\":[1]}]}]}",
         "/tensors/0/items/0/name", "unknown name 'j'"},
        {"{" MACHINE ",\"tensors\":[{\"repeat\":2,\"as\":\"i\",\"items\":[{\"name\":@\"x{i\",\"ne\":[1]}]}]}",
         "/tensors/0/items/0/name", "'{' without '}'"},
        {"{" MACHINE ",\"tensors\":[{\"repeat\":2,\"items\":[@{\"name\":\"x\",\"ne\":[1]}]}]}", "/tensors/0/items/0",
         "used twice"},
    };
    CHECK_ALL(rows);
}

#define RUNS(runs) \
    "{" MACHINE ",\"params\":{\"n\":1},\"graphs\":{\"a\":{\"nodes\":[]},\"b\":{\"nodes\":[]}},\"runs\":" runs "}"
#define EXPECT(expect) RUNS("[{\"graph\":\"a\",\"expect\":" expect "}]")

static void test_runs(void **state) {
    (void)state;
    static const broken rows[] = {
        {RUNS("@{}"), "/runs", "expected an array"},
        {RUNS("[@{}]"), "/runs/0", "\"graph\" is missing"},
        {RUNS("[{\"graph\":@\"c\"}]"), "/runs/0/graph", "unknown graph 'c'"},
        {RUNS("[{\"graph\":\"a\",\"reserve\":@1}]"), "/runs/0/reserve", "expected true or false"},
        {RUNS("[{\"graph\":\"a\",@\"reserved\":true}]"), "/runs/0/reserved", "\"reserve\""},
        {RUNS("[{\"graph\":\"a\",\"params\":@7}]"), "/runs/0/params", "expected an object"},
        {RUNS("[{\"graph\":\"a\",\"params\":{\"m\":@1}}]"), "/runs/0/params/m", "unknown param 'm'"},
        {RUNS("[{\"graph\":\"a\",\"params\":{\"n\":@\"n+1\"}}]"), "/runs/0/params/n", "depends on itself"},
        {"{" MACHINE ",\"nodes\":[],\"runs\":[],@\"expect\":{}}", "/expect", "each run has its own"},
        {"{" MACHINE ",\"graphs\":{\"a\":{},\"b\":{}},@\"expect\":{}}", "/expect", "2 runs"},
        {EXPECT("{@\"n_split\":1}"), "/runs/0/expect/n_split", "\"n_splits\""},
        {EXPECT("{\"n_splits\":@-1}"), "/runs/0/expect/n_splits", "negative"},
        {EXPECT("{\"splits\":[{@\"nodes\":1}]}"), "/runs/0/expect/splits/0/nodes", "unknown key"},
        {EXPECT("{\"backend_of\":{\"x\":@1}}"), "/runs/0/expect/backend_of/x", "expected a string"},
        {EXPECT("{\"address\":{\"x\":@[\"CPU\"]}}"), "/runs/0/expect/address/x", "[buffer type, offset]"},
        {EXPECT("{\"compute_buffer_size\":{\"CPU\":@\"x\"}}"), "/runs/0/expect/compute_buffer_size/CPU",
         "unknown name"},
        {EXPECT("{\"outputs\":{\"x\":@{}}}"), "/runs/0/expect/outputs/x", "nothing to compare"},
        {EXPECT("{\"outputs\":{\"x\":@{\"sum\":1}}}"), "/runs/0/expect/outputs/x", "belong together"},
        {EXPECT("{\"outputs\":{\"x\":{\"values\":[1],\"nmse\":@-1}}}"), "/runs/0/expect/outputs/x/nmse",
         "not negative"},
        {EXPECT("{\"outputs\":{\"x\":{\"base64\":@\"?\"}}}"), "/runs/0/expect/outputs/x/base64", "not base64"},
        {EXPECT("{\"error\":@{}}"), "/runs/0/expect/error", "\"kind\" is missing"},
        {EXPECT("{\"findings\":[{\"kind\":@{}}]}"), "/runs/0/expect/findings/0/kind", "expected a string"},
        {EXPECT("{\"no_findings\":@\"x\"}"), "/runs/0/expect/no_findings", "expected an array"},
        {EXPECT("{\"reallocated\":@\"yes\"}"), "/runs/0/expect/reallocated", "expected true or false"},
    };
    CHECK_ALL(rows);
}

/* Absurd counts end at once, and with the limit's own code. */
static void test_limits(void **state) {
    (void)state;
    load_fails("{" MACHINE
               ",\"tensors\":[{\"repeat\":9007199254740992,\"as\":\"i\",\"items\":[{\"name\":\"x{i}\",\"ne\":[1]}]}]}",
               NULL, NULL, SR_LIMIT, "more tensors than a graph can have");
    load_fails("{" MACHINE
               ",\"tensors\":[{\"repeat\":2147483647,\"as\":\"i\",\"items\":[{\"name\":\"x{i}\",\"ne\":[1]}]}]}",
               NULL, NULL, SR_LIMIT, "more tensors than");
    load_fails("{" MACHINE ",\"tensors\":[{\"repeat\":9007199254740992,\"items\":[{\"if\":0,\"items\":[]}]}]}", NULL,
               NULL, SR_LIMIT, "make nothing");
    sr_description_free(load_text("{" MACHINE ",\"tensors\":[{\"repeat\":9007199254740992,\"items\":[]}]}"));
}

/* Any single byte taken away or changed: a status, never a crash. */
static void test_damaged(void **state) {
    (void)state;
    static const char text[] =
        "{" MACHINE
        ",\"params\":{\"n\":2},\"placement\":[{\"match\":\"^w([0-9]+)\",\"where\":\"m1 < n\",\"buffer\":\"kv\"}],"
        "\"tensors\":[{\"repeat\":\"n\",\"as\":\"i\",\"items\":[{\"name\":\"w{i}\",\"ne\":[4,\"n\"],\"data\":{\"fill\":"
        "1}}]}],"
        "\"nodes\":[{\"name\":\"y\",\"op\":\"ADD\",\"src\":[\"w0\",\"w1\"]},{\"name\":\"z\",\"op\":\"RMS_NORM\","
        "\"src\":[\"y\"],"
        "\"params\":{\"eps\":1e-6},\"backend\":\"CPU\"}],\"runs\":[{\"params\":{\"n\":3},\"expect\":{\"n_splits\":1}}]"
        "}";
    static const char bytes[] = {0, ' ', '"', '{', '}', '[', ']', '9', '-', 'a', (char)0xC3, '\\'};
    const size_t n = sizeof(text) - 1;
    char copy[sizeof(text)];
    sr_load_options options = {.no_memory = true};
    sr_description_free(load_with(text, NULL, &options));
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k <= sizeof(bytes); k++) {
            sr_description *d;
            size_t length = n;
            memcpy(copy, text, sizeof(text));
            if (k < sizeof(bytes)) {
                copy[i] = bytes[k];
            } else {
                memmove(copy + i, copy + i + 1, n - i);
                length--;
            }
            sr_status status = sr_description_load_text(copy, length, "case.json", NULL, &options, &d, NULL);
            assert_true(status == SR_OK || status == SR_DESCRIPTION || status == SR_UNAVAILABLE || status == SR_LIMIT ||
                        status == SR_ALLOCATION);
            sr_description_free(d);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_syntax), cmocka_unit_test(test_top), cmocka_unit_test(test_machine),
        cmocka_unit_test(test_buffers_and_placement), cmocka_unit_test(test_leafs), cmocka_unit_test(test_data),
        cmocka_unit_test(test_nodes), cmocka_unit_test(test_sugar), cmocka_unit_test(test_runs),
        cmocka_unit_test(test_limits), cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
