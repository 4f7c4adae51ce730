// A library that is loaded when it is first needed, not when the program starts.
//
// A program pays for each library that it is linked with, and for all that those need in turn, each time it
// starts: libcurl brings sixty, which cost more time than all else that `calotype get` does for a picture that
// it has. For each function named here the program gets one of the same name, of one jump, that leads to the
// library's once it is loaded; callers are written and compiled as for a library that is linked.
#ifndef CALOTYPE_LATE_LIBRARY_H
#define CALOTYPE_LATE_LIBRARY_H

// LATE_LIBRARY(load, NAMES, soname) defines what the functions of the list NAMES, a macro that applies its
// argument to each name, jump through, and `const char *load(void)`, which loads the library and gives NULL,
// or says why it cannot. It must have given NULL before any of the functions is called; any thread may call
// it, any number of times.
#if defined(__linux__)

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#if defined(__x86_64__)
#define LATE_JUMP(name) "  jmp *late_slot_" #name "(%rip)\n"
#elif defined(__aarch64__)
// x16 is what the procedure call standard leaves to such jumps; the hint allows calls through pointers.
#define LATE_JUMP(name)                                 \
  "  hint #34\n"                                        \
  "  adrp x16, late_slot_" #name "\n"                   \
  "  ldr x16, [x16, #:lo12:late_slot_" #name "]\n"      \
  "  br x16\n"
#else
#error "Calotype runs on x86-64 and arm64"
#endif

// Hidden, so that the library finds its own function where it calls itself, not the jump.
#define LATE_STUB(name)                                                  \
  __attribute__((visibility("hidden"))) void *late_slot_##name;          \
  __asm__(                                                               \
      ".pushsection .text.late,\"ax\",%progbits\n"                       \
      ".globl " #name "\n.hidden " #name "\n.type " #name ", %function\n" \
      ".p2align 4\n" #name ":\n" LATE_JUMP(name)                         \
      ".size " #name ", . - " #name "\n.popsection\n");

#define LATE_ENTRY(name) {#name, &late_slot_##name},

struct late_symbol {
  const char *name;
  void **slot;
};

// Fills the slots, all or none. What it says of a failure lives until the thread tries again.
static inline const char *late_load(
    const char *soname, const struct late_symbol *symbols, char *text, size_t size) {
  void *library = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(text, size, "%s cannot be loaded: %s", soname, dlerror());
    return text;
  }
  for (const struct late_symbol *symbol = symbols; symbol->name; symbol++) {
    *symbol->slot = dlsym(library, symbol->name);
    if (!*symbol->slot) {
      snprintf(text, size, "%s has no function %s", soname, symbol->name);
      return text;
    }
  }
  return NULL;
}

// A failure is not kept: one for want of a descriptor may pass.
#define LATE_LIBRARY(load, NAMES, soname)                                             \
  NAMES(LATE_STUB)                                                                    \
  static const struct late_symbol load##_symbols[] = {NAMES(LATE_ENTRY){NULL, NULL}}; \
  static pthread_mutex_t load##_mutex = PTHREAD_MUTEX_INITIALIZER;                    \
  static int load##_is_done;                                                          \
  const char *load(void) {                                                            \
    static _Thread_local char text[256];                                              \
    if (__atomic_load_n(&load##_is_done, __ATOMIC_ACQUIRE)) return NULL;              \
    pthread_mutex_lock(&load##_mutex);                                                \
    const char *problem =                                                             \
        load##_is_done ? NULL : late_load(soname, load##_symbols, text, sizeof text); \
    if (!problem) __atomic_store_n(&load##_is_done, 1, __ATOMIC_RELEASE);             \
    pthread_mutex_unlock(&load##_mutex);                                              \
    return problem;                                                                   \
  }

#else

// Elsewhere the libraries are linked.
#define LATE_LIBRARY(load, NAMES, soname) \
  const char *load(void) { return 0; }

#endif
#endif
