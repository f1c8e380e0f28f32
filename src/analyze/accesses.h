/*
 * accesses.h - who last read and wrote each byte of a memory: for finding accesses that nothing keeps in order.
 *
 * Layer: analyze.  Internal.
 */
#ifndef SR_ACCESSES_H
#define SR_ACCESSES_H

#include "base/base.h"

/*
 * Ranges of one or several memories, called by a number.  First every range that will be asked for or recorded is
 * declared, then sr__accesses_sort makes the table.  Times are numbers that only rise; 0 means never.
 */
typedef struct sr__accesses sr__accesses;

/* n_users: queues, each with reads and writes of its own.  NULL: out of memory. */
sr__accesses *sr__accesses_new(int n_users);
void sr__accesses_free(sr__accesses *a);
bool sr__accesses_declare(sr__accesses *a, int32_t memory, size_t begin, size_t end);
bool sr__accesses_sort(sr__accesses *a);
/* O(log n) each. */
void sr__accesses_record(sr__accesses *a, int user, bool write, int32_t memory, size_t begin, size_t end, int32_t time);
/* The latest time at which the user read (wrote) any byte of the range. */
int32_t sr__accesses_latest(const sr__accesses *a, int user, bool write, int32_t memory, size_t begin, size_t end);

#endif
