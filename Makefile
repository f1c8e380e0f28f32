# sched-run.  `make help` lists the targets; CONTRIBUTING.md says when to use which.

CC      ?= gcc
BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
GOLDENS ?= tests/golden
CFLAGS  ?= -O2 -g
WERROR  ?= -Werror
PKG_CONFIG ?= pkg-config

# Debian packages: what the tool needs, what the tests need besides.
DEPS_TOOL := gcc libc6-dev make pkg-config libcjson-dev graphviz libopenblas-dev ocl-icd-opencl-dev opencl-headers
DEPS_TEST := g++ libcmocka-dev valgrind pocl-opencl-icd chromium mesa-vulkan-drivers

WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wvla -Wformat=2
BASE_CFLAGS = -std=c11 $(WARN) $(WERROR) -fvisibility=hidden -fPIC -pthread -MMD -MP
CPPFLAGS += -Iinclude -Isrc -D_GNU_SOURCE

CJSON_CFLAGS := $(shell $(PKG_CONFIG) --cflags libcjson 2>/dev/null)
CJSON_LIBS   := $(shell $(PKG_CONFIG) --libs libcjson 2>/dev/null || echo -lcjson)
CMOCKA_LIBS  := $(shell $(PKG_CONFIG) --libs cmocka 2>/dev/null || echo -lcmocka)
# BLAS=0 leaves the BLAS backend out, BLAS=1 insists on it.
BLAS ?= $(shell $(PKG_CONFIG) --exists openblas 2>/dev/null && echo 1 || echo 0)
ifeq ($(BLAS),1)
CPPFLAGS  += -DSR_HAVE_BLAS $(shell $(PKG_CONFIG) --cflags openblas)
BLAS_LIBS := $(shell $(PKG_CONFIG) --libs openblas)
endif
# Likewise the OpenCL backend: OPENCL=0, OPENCL=1.
OPENCL ?= $(shell $(PKG_CONFIG) --exists OpenCL 2>/dev/null && echo 1 || echo 0)
ifeq ($(OPENCL),1)
CPPFLAGS    += -DSR_HAVE_OPENCL $(shell $(PKG_CONFIG) --cflags OpenCL)
OPENCL_LIBS := $(shell $(PKG_CONFIG) --libs OpenCL)
else
UNUSED_SRCS += $(filter-out %/opencl_driver.c,$(wildcard src/backends/opencl/*.c))
endif
# Likewise the CUDA backend: CUDA=0, CUDA=1.  The runtime is linked statically and cuBLAS loaded when it is needed, so
# that what was built also starts where there is neither.  Sanitizers leave it out.
CUDA_HOME ?= $(if $(wildcard /usr/local/cuda),/usr/local/cuda,/usr)
NVCC      ?= $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc 2>/dev/null))
CUDART    := $(firstword $(wildcard $(addsuffix /libcudart_static.a,$(CUDA_HOME)/lib64 $(CUDA_HOME)/lib \
  $(CUDA_HOME)/lib/x86_64-linux-gnu)))
CUDA      ?= $(if $(findstring -fsanitize,$(CFLAGS)),0,$(if $(NVCC),$(if $(CUDART),1,0),0))
# Code for these, and PTX of each for what comes after it.
CUDA_ARCHS ?= 75 90
ifeq ($(CUDA),1)
CPPFLAGS  += -DSR_HAVE_CUDA -isystem $(CUDA_HOME)/include
CUDA_LIBS := -L$(dir $(CUDART)) -lcudart_static -ldl -lrt
CUDA_OBJS := $(BUILD)/src/backends/cuda/cuda_kernels.o
else
UNUSED_SRCS += $(filter-out %/cuda_driver.c,$(wildcard src/backends/cuda/*.c))
endif
CPPFLAGS += $(CJSON_CFLAGS)
LIBS = $(CJSON_LIBS) $(BLAS_LIBS) $(OPENCL_LIBS) $(CUDA_LIBS) -lm -pthread

SRCS     := $(filter-out $(UNUSED_SRCS) src/record/%,$(sort $(wildcard src/*/*.c src/backends/*/*.c)))
RECORD_SRCS := $(sort $(wildcard src/record/*.c))
RECORD_TOOL := $(sort $(wildcard src/record/tool/*.c)) src/record/json_text.c
LIB_SRCS := $(filter-out src/cli/%,$(SRCS))
CLI_SRCS := $(filter src/cli/%,$(SRCS))
LIB_OBJS := $(LIB_SRCS:%.c=$(BUILD)/%.o) $(CUDA_OBJS)
CLI_OBJS := $(CLI_SRCS:%.c=$(BUILD)/%.o)
SUPPORT_SRCS := $(sort $(wildcard tests/support/*.c))
SUPPORT_OBJS := $(SUPPORT_SRCS:%.c=$(BUILD)/%.o)
TEST_SRCS := $(sort $(wildcard tests/unit/test_*.c tests/conformance/test_*.c tests/property/test_*.c))
TEST_BINS := $(TEST_SRCS:%.c=$(BUILD)/%)
PROPERTY_SRCS := $(filter-out tests/property/test_%,$(wildcard tests/property/*.c))
PROPERTY_OBJS := $(PROPERTY_SRCS:%.c=$(BUILD)/%.o)
HTML_TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/html/test_*.c))
FUZZ_SRCS := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BINS := $(FUZZ_SRCS:%.c=$(BUILD)/%)
BENCH_BINS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard bench/bench_*.c)))
VERSION := $(shell sed -n 's/^\#define SR_VERSION "\(.*\)"/\1/p' include/sched_run.h)

.PHONY: all
all: $(BUILD)/sched-run $(BUILD)/sched-record ## build the commands (the default)

.PHONY: lib
lib: $(BUILD)/libsched_run.a $(BUILD)/libsched_run.so ## build the libraries alone

# ---- compiling ---------------------------------------------------------------------------------------------------------

# Kernels are worth more optimisation; the quantizers are exact to the bit only without fused multiply-add.
$(BUILD)/src/kernels/%.o: EXTRA_CFLAGS = $(if $(findstring -O2,$(CFLAGS)),-O3)
$(BUILD)/src/graph/%.o: EXTRA_CFLAGS = -ffp-contract=off

comma := ,
# V=1 shows whole commands.
ifneq ($(V),1)
Q = @echo "  $(1)  $@";
else
Q =
endif

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call Q,CC)$(CC) $(CPPFLAGS) $(BASE_CFLAGS) $(CFLAGS) $(EXTRA_CFLAGS) -c -o $@ $<

# Text that becomes part of the library: FILE.embed is a string literal for an #include.  The file may be a built one.
EMBED = sed -e 's|\\|&&|g' -e 's|["?]|\\&|g' -e 's|.*|"&\\n"|' $< > $@
$(BUILD)/%.embed: %
	@mkdir -p $(@D)
	$(call Q,GEN)$(EMBED)

$(BUILD)/%.embed: $(BUILD)/%
	$(call Q,GEN)$(EMBED)

PAGE_PARTS := $(patsubst %,$(BUILD)/%.embed,$(wildcard src/report/page/*))
$(BUILD)/src/report/report_html.o: CPPFLAGS += -I$(BUILD)/src
$(BUILD)/src/report/report_html.o: $(PAGE_PARTS)

# The kernels for CUDA.  A compiler cache in CC serves nvcc, too.
NVCC_FLAGS = -std=c++17 -O3 -Isrc $(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$(a),code=[sm_$(a),compute_$(a)]) \
  -Xcompiler -fPIC,-fvisibility=hidden,-fno-exceptions,-fno-rtti,-fno-threadsafe-statics,-Wall,-Wextra $(if $(WERROR),-Werror all-warnings)
$(BUILD)/%.o: %.cu
	@mkdir -p $(@D)
	$(call Q,NVCC)$(filter %ccache,$(firstword $(CC))) $(NVCC) $(NVCC_FLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

# The OpenCL program: its language, then the kernel files in the order of all_kernels.h.
KERNELS := src/backends/gpu/kernels
KERNEL_FILES := $(KERNELS)/opencl_language.h $(KERNELS)/gpu_types.h \
  $(addprefix src/,$(shell sed -n 's/^.include "\(.*\)"/\1/p' $(KERNELS)/all_kernels.h))
KERNEL_TEXT := $(BUILD)/src/backends/opencl/kernels.cl
$(KERNEL_TEXT): $(KERNEL_FILES) $(KERNELS)/all_kernels.h
	@mkdir -p $(@D)
	$(call Q,GEN)sed '/^.include "/d' $(KERNEL_FILES) > $@
$(BUILD)/src/backends/opencl/opencl_program.o: CPPFLAGS += -I$(BUILD)/src
$(BUILD)/src/backends/opencl/opencl_program.o: $(KERNEL_TEXT).embed

$(BUILD)/libsched_run.a: $(LIB_OBJS)
	@rm -f $@
	$(call Q,LD)ar rcs $@ $^

$(BUILD)/libsched_run.so: $(LIB_OBJS)
	$(call Q,LD)$(CC) -shared -Wl,-soname,libsched_run.so.0 $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/sched-run: $(CLI_OBJS) $(BUILD)/libsched_run.a
	$(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The recorder is loaded into other programs: nothing of ours but itself, and it lets their exceptions through.
$(BUILD)/src/record/%.o: EXTRA_CFLAGS = -fexceptions
$(BUILD)/src/record/tool/sched_record.o: EXTRA_CFLAGS = -DRECORD_LIBDIR='"$(PREFIX)/lib"' -DRECORD_VERSION='"$(VERSION)"'

$(BUILD)/libsched_record.so: $(RECORD_SRCS:%.c=$(BUILD)/%.o)
	$(call Q,LD)$(CC) -shared -Wl,-soname,libsched_record.so -Wl,-z,now $(CFLAGS) $(LDFLAGS) -o $@ $^

$(BUILD)/sched-record: $(RECORD_TOOL:%.c=$(BUILD)/%.o) $(BUILD)/libsched_record.so
	$(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^)

# ---- tests --------------------------------------------------------------------------------------------------------------

$(BUILD)/tests/unit/% $(BUILD)/tests/conformance/%: TEST_OBJS = $(SUPPORT_OBJS)
$(BUILD)/tests/property/%: TEST_OBJS = $(SUPPORT_OBJS) $(PROPERTY_OBJS)

# The kernels of devices, compiled for the host, where each work-item has a stack of its own.
ITEM_TESTS := $(addprefix $(BUILD)/tests/items/,test_gpu_ops test_gpu_ops_rest test_gpu_ops_shapes test_gpu_products)
ITEM_OBJS := $(BUILD)/tests/items/gpu_items.o $(BUILD)/tests/items/item_kernels.o
CXX ?= g++
$(BUILD)/tests/items/item_kernels.o: tests/items/item_kernels.cc
	@mkdir -p $(@D)
	$(call Q,CXX)$(CXX) $(CPPFLAGS) -std=c++17 -Itests -Wall $(WERROR) -ffp-contract=off -fno-exceptions -fno-rtti -pthread \
	  -MMD -MP $(CFLAGS) -c -o $@ $<
$(BUILD)/tests/items/%.o: tests/conformance/%.c
	@mkdir -p $(@D)
	$(call Q,CC)$(CC) $(CPPFLAGS) -DTESTS_ON_ITEMS $(BASE_CFLAGS) $(CFLAGS) -c -o $@ $<
$(ITEM_TESTS): $(BUILD)/%: $(BUILD)/%.o $(SUPPORT_OBJS) $(ITEM_OBJS) $(BUILD)/libsched_run.a
	$(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(CMOCKA_LIBS) $(LIBS)

# What the recorder is tried on: a small ggml of the tests' own, right and wrong, linked, built in and loaded.
FAKE := $(BUILD)/tests/record
FAKE_GGML := $(foreach k,0 1 2 3,$(FAKE)/ggml$(k)/libggml-base.so)
FAKE_ALL := $(FAKE_GGML) $(FAKE)/fake_program $(FAKE)/fake_static $(FAKE)/fake_host $(FAKE)/libfake_binding.so \
  $(FAKE)/llama_driver
FAKE_CFLAGS = $(CPPFLAGS) -Itests -std=c11 $(WARN) $(WERROR) -fPIC -pthread $(CFLAGS) $(LDFLAGS)

$(FAKE)/ggml%/libggml-base.so: tests/record/fake_ggml.c tests/record/fake_ggml.h
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(FAKE_CFLAGS) -DFAKE_LAYOUT=$* -shared -Wl,-soname,libggml-base.so -o $@ $<
$(FAKE)/fake_program: tests/record/fake_program.c $(FAKE)/ggml0/libggml-base.so
	$(call Q,LD)$(CC) $(FAKE_CFLAGS) -o $@ $^
$(FAKE)/fake_static: tests/record/fake_program.c tests/record/fake_ggml.c
	$(call Q,LD)$(CC) $(FAKE_CFLAGS) -o $@ $^
$(FAKE)/libfake_binding.so: tests/record/fake_program.c $(FAKE)/ggml0/libggml-base.so
	$(call Q,LD)$(CC) $(FAKE_CFLAGS) -DFAKE_BINDING -shared -Wl,-rpath,'$$ORIGIN/ggml0' -o $@ $^
$(FAKE)/fake_host: tests/record/fake_host.c
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(FAKE_CFLAGS) -o $@ $^
$(FAKE)/llama_driver: tests/record/llama_driver.c
	@mkdir -p $(@D)
	$(call Q,LD)$(CC) $(FAKE_CFLAGS) -rdynamic -o $@ $^

# The recorder as part of a program, before the small ggml that it stands in for.
RECORD_TEST := $(RECORD_SRCS:%.c=$(BUILD)/%.o) $(FAKE)/ggml0/libggml-base.so
$(BUILD)/tests/unit/test_record: $(RECORD_TEST)
$(BUILD)/tests/unit/test_record: TEST_OBJS = $(RECORD_TEST) -Wl,-rpath,$(abspath $(FAKE)/ggml0) \
  $(addprefix -Wl$(comma)--wrap=,malloc calloc realloc strdup strndup asprintf)

$(TEST_BINS): $(BUILD)/%: $(BUILD)/%.o $(SUPPORT_OBJS) $(PROPERTY_OBJS) $(BUILD)/libsched_run.a
	$(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(TEST_OBJS) $(BUILD)/libsched_run.a $(CMOCKA_LIBS) $(LIBS)

# The page in a browser; `shoot` takes pictures of pages to look at.
$(HTML_TESTS) $(BUILD)/tests/html/shoot: $(BUILD)/%: $(BUILD)/%.o $(BUILD)/tests/html/browser.o \
  $(BUILD)/tests/support/json_schema.o
	$(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(CMOCKA_LIBS) $(LIBS)

$(BUILD)/tests/%.o: CPPFLAGS += -Itests
$(BUILD)/bench/%.o: CPPFLAGS += -Itests

.PHONY: record
record: all $(FAKE_ALL) ## run the tests of the recorder
	@tests/record/run.sh "$(BUILD)"
	@tests/record/llama.sh "$(BUILD)"

.PHONY: test
test: deps ## install what is missing, build, run all tests
	@$(MAKE) --no-print-directory all check

.PHONY: check
check: all $(FAKE_ALL) $(TEST_BINS) $(HTML_TESTS) fuzz-corpus check-layers check-symbols ## run all tests (nothing is installed)
	@tests/run.sh $(TESTS) "$(BUILD)"

.PHONY: unit
unit: $(TEST_BINS) ## run the unit, conformance and property tests
	@tests/run.sh --unit "$(BUILD)"

.PHONY: cli
cli: $(BUILD)/sched-run ## run the command-line tests
	@tests/cli/run.sh "$(BUILD)/sched-run"

.PHONY: html
html: $(BUILD)/sched-run $(HTML_TESTS) ## run the tests of the page, in Chromium
	@for t in $(HTML_TESTS); do SCHED_RUN=$(BUILD)/sched-run $$t || exit 1; done

# Pages whose commands are run, and what they print compared.
RUN_PAGES := docs/teaching.md docs/estimating.md

.PHONY: docs
docs: $(BUILD)/sched-run ## run the commands that pages show
	@tests/docs/run.sh "$(BUILD)/sched-run" $(RUN_PAGES)

.PHONY: pictures
pictures: $(BUILD)/sched-run $(BUILD)/tests/html/shoot ## draw the pictures of the docs anew
	@PATH="$(abspath $(BUILD)/tests/html):$$PATH" tests/docs/run.sh --pictures "$(BUILD)/sched-run" $(RUN_PAGES) README.md

.PHONY: bless
bless: $(BUILD)/sched-run ## rewrite the expected outputs of the command-line tests and in docs
	@tests/cli/run.sh --bless "$(BUILD)/sched-run"
	@tests/docs/run.sh --bless "$(BUILD)/sched-run" $(RUN_PAGES)

.PHONY: parity
parity: $(BUILD)/sched-run ## compare with recorded results: make parity GOLDENS=FOLDER
	@tests/golden/parity.sh "$(BUILD)/sched-run" "$(GOLDENS)"

# A device as `sched-run devices` lists them: opencl, cuda.
DEVICE ?= opencl
.PHONY: parity-device
parity-device: $(BUILD)/sched-run ## execute recorded graphs on a device: make parity-device GOLDENS=FOLDER DEVICE=opencl
	@tests/golden/device.sh "$(BUILD)" "$(GOLDENS)" "$(DEVICE)"

# With CUDA and without what may be missing where the GPU is; lib/ holds the libraries that are not everywhere.
DEVICE_TESTS := $(addprefix $(BUILD)/tests/conformance/,test_backends test_gpu_ops test_gpu_ops_shapes test_gpu_products)
.PHONY: device-bundle
device-bundle: ## build what device-check needs, to carry to a machine with a GPU
ifeq ($(CUDA)$(BLAS)$(OPENCL),100)
device-bundle: $(BUILD)/sched-run $(DEVICE_TESTS) $(BUILD)/bench/bench_gpu
	@mkdir -p $(BUILD)/lib
	@for l in $$(ldd $^ | sed -n 's/.*=> \(.*lib\(cjson\|cmocka\)[^ ]*\).*/\1/p' | sort -u); do cp -L $$l $(BUILD)/lib/; done
else
	@$(MAKE) --no-print-directory device-bundle CUDA=1 BLAS=0 OPENCL=0 CFLAGS=-O2 \
	  BUILD=$(if $(filter build,$(BUILD)),build-device,$(BUILD))
endif

.PHONY: device-check
device-check: ## everything that needs an NVIDIA GPU, in under four minutes
	@tests/device_check.sh build-device $(if $(filter tests/golden,$(GOLDENS)),,$(GOLDENS))

.PHONY: sanitize
sanitize: ## all tests of C code under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory check TESTS=--code BUILD=build-asan WERROR= \
	  CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"

.PHONY: tsan
tsan: ## unit tests under ThreadSanitizer, which cannot see into drivers: without OpenCL devices
	@OCL_ICD_VENDORS=/nonexistent $(MAKE) --no-print-directory unit BUILD=build-tsan WERROR= CFLAGS="-O1 -g -fsanitize=thread"

.PHONY: races
races: ## the kernels of devices on the host, each work-item a thread to ThreadSanitizer: a missing barrier shows
	@TSAN_OPTIONS="history_size=0 halt_on_error=1" $(MAKE) --no-print-directory run-items BUILD=build-tsan WERROR= \
	  OPENCL=0 BLAS=0 CFLAGS="-O1 -g -fsanitize=thread"

.PHONY: run-items
run-items: $(ITEM_TESTS)
	@for t in $(ITEM_TESTS); do $$t || exit 1; done

.PHONY: valgrind
valgrind: $(BUILD)/sched-run $(TEST_BINS) ## unit tests and some runs under Valgrind
	@tests/valgrind.sh "$(BUILD)"

# ---- fuzzing: corpora run as plain tests; `make fuzz` looks for more with libFuzzer ---------------------------------------

$(FUZZ_BINS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/tests/fuzz/driver.o $(BUILD)/libsched_run.a
	$(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

.PHONY: fuzz-corpus
fuzz-corpus: $(FUZZ_BINS)

FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz: $(PAGE_PARTS) $(KERNEL_TEXT).embed $(CUDA_OBJS) ## search for inputs that break the readers (clang, FUZZ_SECONDS each)
	@for f in $(basename $(notdir $(FUZZ_SRCS))); do \
	  mkdir -p build-fuzz/corpus/$$f; \
	  clang -g -O1 -fsanitize=fuzzer,address,undefined $(CPPFLAGS) -I$(BUILD)/src -std=c11 -pthread -o build-fuzz/$$f \
	    tests/fuzz/$$f.c $(LIB_SRCS) $(CUDA_OBJS) $(LIBS) || exit 1; \
	  build-fuzz/$$f -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=4096 build-fuzz/corpus/$$f \
	    tests/fuzz/corpus/$${f#fuzz_} || exit 1; \
	done

# ---- the house --------------------------------------------------------------------------------------------------------------

.PHONY: check-layers
check-layers: ## fail on an include that runs up the layers
	@tests/check_layers.sh

.PHONY: check-symbols
check-symbols: $(BUILD)/libsched_run.so ## fail if the library exports anything but sr_ symbols
	@bad=$$(nm -D --defined-only $< | awk '{print $$3}' | grep -v '^sr_' | grep -v '^_' || true); \
	if [ -n "$$bad" ]; then echo "exported, but not sr_: $$bad"; exit 1; fi

.PHONY: bench
bench: $(BUILD)/sched-run $(BENCH_BINS) ## measure: scheduling, loading, kernels
	@for b in $(BENCH_BINS); do echo "== $${b##*/}"; $$b || exit 1; done

$(BENCH_BINS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libsched_run.a
	$(call Q,LD)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libsched_run.a $(LIBS)

.PHONY: demo
demo: deps ## install what is missing, build, run an example
	@$(MAKE) --no-print-directory all
	@for run in "-n -l -e probs graphs/teaching/3-best.json" "-n -d 1 graphs/models/flash-attention.json"; do \
	  echo; echo "\$$ $(BUILD)/sched-run $$run"; echo; $(BUILD)/sched-run $$run || exit 1; done
	@echo; echo "Next: README.md, graphs/README.md, $(BUILD)/sched-run help"

.PHONY: deps
deps: ## install the Debian packages that are missing
	@tests/deps.sh $(DEPS_TOOL) $(DEPS_TEST)

.PHONY: install
install: all lib ## install command, library, headers, man page, completion: PREFIX=, DESTDIR=
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/sched_run \
	  $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	  $(DESTDIR)$(PREFIX)/share/sched-run/graphs
	install -m 755 $(BUILD)/sched-run $(BUILD)/sched-record $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(BUILD)/libsched_record.so $(DESTDIR)$(PREFIX)/lib/
	install -m 644 $(BUILD)/libsched_run.a $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(BUILD)/libsched_run.so $(DESTDIR)$(PREFIX)/lib/libsched_run.so.$(VERSION)
	ln -sf libsched_run.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/libsched_run.so.0
	ln -sf libsched_run.so.0 $(DESTDIR)$(PREFIX)/lib/libsched_run.so
	install -m 644 include/sched_run.h $(DESTDIR)$(PREFIX)/include/
	install -m 644 include/sched_run/*.h $(DESTDIR)$(PREFIX)/include/sched_run/
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(LIBS)|' docs/sched_run.pc.in \
	  > $(DESTDIR)$(PREFIX)/lib/pkgconfig/sched_run.pc
	install -m 644 docs/man/sched-run.1 docs/man/sched-record.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 docs/completion/sched-run.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/sched-run
	install -m 644 docs/completion/sched-record.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/sched-record
	cp -R graphs/. $(DESTDIR)$(PREFIX)/share/sched-run/graphs/

.PHONY: clean
clean: ## remove what was built
	rm -rf build build-*

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 18

-include $(RECORD_SRCS:%.c=$(BUILD)/%.d) $(RECORD_TOOL:%.c=$(BUILD)/%.d)
-include $(ITEM_OBJS:.o=.d) $(ITEM_TESTS:=.d)
-include $(LIB_OBJS:.o=.d) $(CLI_OBJS:.o=.d) $(SUPPORT_OBJS:.o=.d) $(TEST_BINS:=.d) $(HTML_TESTS:=.d) $(PROPERTY_OBJS:.o=.d) $(BENCH_BINS:=.d)
