/* What the process asks of its host: where engine log lines go, and to die with its parent. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "engine.h"

static int32_t log_level = GGML_LOG_LEVEL_INFO;

/* The supervisor reads the worker's stderr and keeps its last lines for the case that the worker dies. */
static void write_log(enum ggml_log_level level, const char *text, void *data) {
    static bool shown = true; /* of the line that a CONT continues */
    (void)data;
    shown = level == GGML_LOG_LEVEL_CONT ? shown : (int32_t)level >= log_level;
    if (shown) {
        fputs(text, stderr);
    }
}

void shim_log_to_stderr(int32_t min_level) {
    log_level = min_level;
    llama_log_set(write_log, NULL);
}

void shim_die_with_parent(void) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}
