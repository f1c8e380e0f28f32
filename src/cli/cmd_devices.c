/*
 * cmd_devices.c - sched-run devices: the drivers of this build and the devices of this machine.
 *
 * Layer: cli.
 */
#include "cli/cli.h"
#include "report/report_out.h"

static void put_device(sr__str *s, const sr_driver *driver, int index, int count) {
    const char *description = "";
    size_t free_bytes = 0;
    size_t total = 0;
    char name[64];
    if (driver->device_describe(index, &description, &free_bytes, &total) != SR_OK) {
        description = "cannot be described";
    }
    snprintf(name, sizeof(name), count > 1 ? "%s:%d" : "%s", driver->name, index);
    sr__str_puts(s, "    ");
    sr__put_left(s, name, 10);
    sr__str_puts(s, "  ");
    sr__put_name(s, description != NULL ? description : "");
    if (total > 0) {
        sr__str_puts(s, "   ");
        sr__put_bytes(s, free_bytes);
        sr__str_puts(s, " free of ");
        sr__put_bytes(s, total);
    }
    sr__str_puts(s, "\n");
}

int cli_cmd_devices(const cli_options *options) {
    (void)options;
    sr__str s = {0};
    for (const sr_driver *const *d = sr_drivers(); *d != NULL; d++) {
        const char *why = NULL;
        const int count = (*d)->device_count(&why);
        sr__str_printf(&s, "%-10s %s\n", (*d)->name, (*d)->summary);
        if (count <= 0) {
            sr__str_printf(&s, "    no device%s%s\n", why != NULL ? ": " : "", why != NULL ? why : "");
        }
        for (int i = 0; i < count; i++) {
            put_device(&s, *d, i, count);
        }
    }
    cli_output output;
    cli_output_init(&output, NULL);
    cli_print(&output, sr__str_text(&s));
    sr__str_free(&s);
    return cli_output_close(&output) ? 0 : sr_status_exit(SR_IO);
}
