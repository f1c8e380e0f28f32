# sched-run: see `make help`.

CC       ?= gcc
BUILD    ?= build
PREFIX   ?= /usr/local
CFLAGS   ?= -O2 -g
WARN     := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wvla -Wformat=2
WERROR   ?= -Werror
CPPFLAGS += -Iinclude -Isrc -D_GNU_SOURCE
ALL_CFLAGS = -std=c11 $(WARN) $(WERROR) -fvisibility=hidden -fPIC -pthread -MMD -MP $(CFLAGS)

SRCS := $(sort $(wildcard src/*/*.c src/backends/*/*.c))
LIB_SRCS := $(filter-out src/cli/%,$(SRCS))
CLI_SRCS := $(filter src/cli/%,$(SRCS))
OBJS := $(SRCS:%.c=$(BUILD)/%.o)
LIB_OBJS := $(LIB_SRCS:%.c=$(BUILD)/%.o)
CLI_OBJS := $(CLI_SRCS:%.c=$(BUILD)/%.o)

CJSON_LIBS := $(shell pkg-config --libs libcjson 2>/dev/null || echo -lcjson)
CMOCKA_LIBS := $(shell pkg-config --libs cmocka 2>/dev/null || echo -lcmocka)
LIBS = $(CJSON_LIBS) -lm -pthread

TEST_SRCS := $(wildcard tests/unit/test_*.c tests/property/test_*.c tests/conformance/test_*.c)
TEST_BINS := $(TEST_SRCS:%.c=$(BUILD)/%)

.PHONY: all
all: $(BUILD)/sched-run

$(BUILD)/sched-run: $(CLI_OBJS) $(BUILD)/libsched_run.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libsched_run.a: $(LIB_OBJS)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(dir $@)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/tests/%: tests/%.c $(BUILD)/libsched_run.a
	@mkdir -p $(dir $@)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libsched_run.a $(CMOCKA_LIBS) $(LIBS)

-include $(OBJS:.o=.d)
