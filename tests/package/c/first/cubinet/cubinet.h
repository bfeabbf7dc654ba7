/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cubinet's C library: finds, compiles, verifies, loads and launches CUDA kernels. C11 and C++.
 * Needs no CUDA header. docs/c.md shows its use.
 *
 * Objects are opaque handles. A function that creates one returns it with one reference, which
 * the caller releases with the type's `_release`. Releasing NULL does nothing. An object keeps
 * alive what it depends on, so handles may be released in any order.
 *
 * Results. Every function that can fail returns a status: 0 (CUBINET_OK) or the code of an
 * error. It takes `cubinet_error** error` as its last argument, which may be NULL. On failure
 * it stores a new error there, which the caller releases; on success it stores NULL. After a
 * failure the other results are unchanged. No C++ exception leaves the library: an invariant
 * that is broken inside gives CUBINET_INTERNAL, exhausted memory CUBINET_UNAVAILABLE.
 *
 * Strings are pairs of pointer and length (cubinet_string), UTF-8, without zeros, and need no final
 * zero.
 * Arguments are copied. A string that a function returns belongs to the object that the
 * function names, and is valid until that object is released.
 *
 * Structures that may grow begin with `struct_size`, which the CUBINET_..._INIT macros set. New
 * members are only appended; a shorter structure gives them their defaults. A longer one is
 * accepted if its unknown bytes are 0, otherwise the call returns CUBINET_UNSUPPORTED. A size
 * of 0, or one that is smaller than the first version's, is CUBINET_INVALID_ARGUMENT.
 *
 * Threads. Every function may be called from several threads at once with the same handles,
 * except those on cubinet_config, cubinet_spec and cubinet_workspace, which one thread at a
 * time may use. Callbacks may be called on any thread, also several at once. They must not
 * throw, and must not call this library: it may hold a lock. A thread must not be cancelled
 * (pthread_cancel) inside a call.
 *
 * Blocking. Functions that search, compile or load may block for seconds: on files, servers,
 * other builders, NVRTC and the driver. cubinet_runtime_trim() and the release of the last handle
 * that depends on a runtime unload modules, which waits for the work of the device's context,
 * and a workspace frees device memory: do neither between launches of a running server. The
 * others do not block. docs/in_service.md describes how long modules stay loaded.
 *
 * Fork. In a child that is forked after a runtime was created, calls with the parent's objects
 * that search, compile, load or launch return CUBINET_UNSUPPORTED. The child may release them,
 * which frees nothing of the parent's, and create its own.
 *
 * The library does not read its configuration from the environment;
 * cubinet_config_from_environment() is given one. NVRTC itself reads NV_NVVM_VERSION
 * when it is loaded. While the variable is set, NVRTC is not loaded and nothing is compiled: the
 * call returns CUBINET_UNAVAILABLE.
 */
#ifndef CUBINET_CUBINET_H
#define CUBINET_CUBINET_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CUBINET_EXPORT __attribute__((visibility("default")))
#else
#define CUBINET_EXPORT
#endif

/* ---- Version ------------------------------------------------------------------------------- */

/* The version of this header: 65536 * major + minor. A new minor adds functions or members. A
 * new major is another library (libcubinet.so.MAJOR). */
#define CUBINET_ABI_VERSION UINT32_C(0x00010001)

/* Returns the version of the loaded library, in the same form. */
CUBINET_EXPORT uint32_t cubinet_abi_version(void);

/* ---- Strings and errors -------------------------------------------------------------------- */

typedef struct cubinet_string {
  const char* data; /* may be NULL if size is 0 */
  size_t size;      /* bytes */
} cubinet_string;

/* Returns the string that ends before the first zero of `text`; an empty one for NULL. */
static inline cubinet_string cubinet_str(const char* text) {
  cubinet_string string = {text, 0};
  if (text != NULL) string.size = strlen(text);
  return string;
}

/* Statuses and codes of errors. The numbers never change; new ones may be added. */
typedef int32_t cubinet_status;
enum {
  CUBINET_OK = 0,
  CUBINET_INVALID_ARGUMENT = 1, /* the caller's input is wrong; the message names the argument */
  CUBINET_NOT_FOUND = 2,        /* a named object, or a build that may not be compiled, is missing */
  CUBINET_UNSUPPORTED = 3,      /* this device, driver, compiler or library cannot do it */
  CUBINET_UNAVAILABLE = 4,      /* the environment lacks something: driver, compiler, home, memory */
  CUBINET_COMPILE_FAILED = 5,   /* the compiler rejected the source; `detail` has its log */
  CUBINET_CORRUPTION = 6,       /* stored bytes do not match their digest or format */
  CUBINET_UNTRUSTED = 7,        /* the bytes or their owner are not trusted */
  CUBINET_IO = 8,               /* the operating system refused a file operation */
  CUBINET_BUSY = 9,             /* another owner held a lock for longer than the time limit */
  CUBINET_DRIVER = 10,          /* the CUDA driver returned an error */
  CUBINET_INTERNAL = 11         /* an invariant of this library is broken */
};

/* An error. Immutable. */
typedef struct cubinet_error cubinet_error;

typedef struct cubinet_error_info {
  size_t struct_size;
  cubinet_status code;
  cubinet_string name;    /* of the code: "invalid_argument" */
  cubinet_string message; /* names the object and the reason; one sentence */
  cubinet_string remedy;  /* states what the caller can do; may be empty */
  cubinet_string detail;  /* long text such as a compiler's log; may be empty */
  int64_t native;         /* the errno, CUresult or nvrtcResult that caused it; 0 if there is none */
} cubinet_error_info;
#define CUBINET_ERROR_INFO_INIT \
  { sizeof(cubinet_error_info), 0, {NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}, 0 }

/* Fills in `info`. The strings belong to `error`. Returns CUBINET_INVALID_ARGUMENT for NULL and
 * for a wrong struct_size. */
CUBINET_EXPORT cubinet_status cubinet_error_get(const cubinet_error* error, cubinet_error_info* info);
CUBINET_EXPORT void cubinet_error_release(cubinet_error* error);

/* A text or an image that the library made. Immutable. */
typedef struct cubinet_text cubinet_text;

/* Returns the bytes, which belong to `text`. A zero follows them. Returns an empty string for
 * NULL. */
CUBINET_EXPORT cubinet_string cubinet_text_get(const cubinet_text* text);
CUBINET_EXPORT void cubinet_text_release(cubinet_text* text);

/* ---- Configuration ------------------------------------------------------------------------- */

/* The options of a runtime: where kernels are searched and kept, who is trusted, how missing
 * kernels are compiled. One thread at a time may use it. */
typedef struct cubinet_config cubinet_config;

/* Creates a configuration with the defaults: no home, no bundle, builds stay in memory.
 * `abi_version` is CUBINET_ABI_VERSION. Returns CUBINET_UNSUPPORTED if the caller's major
 * version is not the library's. */
CUBINET_EXPORT cubinet_status cubinet_config_create(uint32_t abi_version, cubinet_config** config,
                                                    cubinet_error** error);

/* Creates a configuration from environment variables, as the command `cubinet` does from its
 * own: CUBINET_HOME, CUBINET_COMPILE, CUDA_HOME and the others of docs/cli.md. `variables` is
 * an array of "NAME=value" that ends with NULL, such as `environ`. It is copied. The home is
 * not required: one that cannot be used is a warning, and builds stay in memory. Returns
 * CUBINET_INVALID_ARGUMENT for a value that a variable does not take. */
CUBINET_EXPORT cubinet_status cubinet_config_from_environment(uint32_t abi_version,
                                                              const char* const* variables,
                                                              cubinet_config** config, cubinet_error** error);

/* Sets one option, or adds one value to a list. Lists keep the order of the calls.
 *
 *   home                 folder in which builds are kept, searched first
 *   home_access          "read_write" (default) or "read_only"
 *   home_required        "true": an unusable home is an error; "false": a warning. Setting
 *                        `home` sets it to "true"
 *   site_home            list: a read-only home, searched after the home
 *   builtin_bundle       the bundle that was built with this library, searched after the homes
 *   bundle               list: a bundle file, or the reference of a server
 *   mirror               list: a mirror of the bundle that was added last
 *   cache                list: the URL of a build cache of several nodes, which is only read
 *   policy_file          trust policy (docs/formats/policy.md)
 *   compile              "on_miss" (default) or "never"
 *   target               the only SM target that is used: "sm_90a"
 *   forbidden_target     list: an SM target that is never used
 *   nvrtc                path of the NVRTC library; default: searched
 *   toolkit              list: a CUDA toolkit that is searched for NVRTC and headers first
 *   cuda_wheels          list: a folder of NVIDIA's wheels
 *   include_directory    list: a folder with headers of templates and sources
 *   library_directory    list: a folder with device libraries
 *   compiler_flag        list: a flag for NVRTC, part of each kernel's identity
 *   template_file        list: a template source, or a folder of them
 *   driver_library       path of the CUDA driver; default: libcuda.so.1
 *   module_limit         the most bytes of loaded modules on a device; default: no limit
 *   module_limit_excess  "error" (default) or "warning": what a load beyond the limit gives
 *   record_folder        folder of a file to which what is recorded is appended, so that a
 *                        process that is killed leaves it; recording begins with the runtime
 *   journal              "true" (default) or "false": compilations for requests are noted in the
 *                        journal of the home (docs/observability.md)
 *
 * Returns CUBINET_INVALID_ARGUMENT for an unknown name or a wrong value. Does not open
 * anything. */
CUBINET_EXPORT cubinet_status cubinet_config_set(cubinet_config* config, cubinet_string name,
                                                 cubinet_string value, cubinet_error** error);

/* A receiver of log lines. `drop`, which may be NULL, is called once with `user` when the
 * library no longer uses the callback. It is called in the middle of operations: a call from it
 * that would read a store, compile or load returns CUBINET_BUSY. So does one from a receiver of
 * ranges. */
enum { CUBINET_LOG_DEBUG = 0, CUBINET_LOG_INFO = 1, CUBINET_LOG_WARNING = 2, CUBINET_LOG_ERROR = 3 };
typedef struct cubinet_log_callback {
  size_t struct_size;
  void (*call)(void* user, int32_t level, cubinet_string message); /* valid during the call */
  void* user;
  void (*drop)(void* user);
  /* If not NULL, called instead of `call`, which may then be NULL. `fields` are the record's facts
   * as a JSON object on one line (docs/observability.md). Valid during the call. */
  void (*record)(void* user, int32_t level, cubinet_string message, cubinet_string fields);
} cubinet_log_callback;
#define CUBINET_LOG_CALLBACK_INIT \
  { sizeof(cubinet_log_callback), NULL, NULL, NULL, NULL }

/* Sets the receiver of the log lines of runtimes that are created with `config`. On failure
 * `drop` is not called. */
CUBINET_EXPORT cubinet_status cubinet_config_set_log(cubinet_config* config,
                                                     const cubinet_log_callback* callback,
                                                     cubinet_error** error);

/* A receiver of ranges, for a profiler's timeline: the phases of requests that miss the process
 * cache. Ranges of a thread are nested. Both functions are called on the requesting thread. `drop`,
 * which may be NULL, is called once with `user` when the library no longer uses the callback. */
typedef struct cubinet_range_callback {
  size_t struct_size;
  void (*begin)(void* user, const char* name); /* ends with a zero; valid during the call */
  void (*end)(void* user);
  void* user;
  void (*drop)(void* user);
} cubinet_range_callback;
#define CUBINET_RANGE_CALLBACK_INIT \
  { sizeof(cubinet_range_callback), NULL, NULL, NULL, NULL }

/* Sets the receiver of the ranges of runtimes that are created with `config`. On failure `drop` is
 * not called. */
CUBINET_EXPORT cubinet_status cubinet_config_set_ranges(cubinet_config* config,
                                                        const cubinet_range_callback* callback,
                                                        cubinet_error** error);
CUBINET_EXPORT void cubinet_config_release(cubinet_config* config);

/* ---- Runtime ------------------------------------------------------------------------------- */

/* Opens stores, finds and compiles kernels, and keeps loaded modules. */
typedef struct cubinet_runtime cubinet_runtime;

/* Creates a runtime. Opens the home and the bundles; servers, the driver and NVRTC are opened
 * when they are first needed. Reads files and may block on them. `config` is copied. */
CUBINET_EXPORT cubinet_status cubinet_runtime_create(const cubinet_config* config, cubinet_runtime** runtime,
                                                     cubinet_error** error);
CUBINET_EXPORT cubinet_runtime* cubinet_runtime_retain(cubinet_runtime* runtime);
CUBINET_EXPORT void cubinet_runtime_release(cubinet_runtime* runtime);

/* Counts of requests for kernels by the source that served them. */
typedef struct cubinet_counters {
  size_t struct_size;
  uint64_t process_hits;  /* loaded in this process already */
  uint64_t memory_hits;   /* built earlier by this runtime, which has no home */
  uint64_t registry_hits; /* a home */
  uint64_t bundle_hits;
  uint64_t imported_hits; /* a folder of published cubins */
  uint64_t server_hits;
  uint64_t compiled;
  uint64_t misses;   /* compile = never and no build found */
  uint64_t failures; /* errors other than misses */
  uint64_t bytes_loaded;
} cubinet_counters;
#define CUBINET_COUNTERS_INIT \
  { sizeof(cubinet_counters), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Reads the counters. Does not block. */
CUBINET_EXPORT cubinet_status cubinet_runtime_counters(const cubinet_runtime* runtime,
                                                       cubinet_counters* counters, cubinet_error** error);

/* Forgets all kernels of a device whose primary context was reset. Launches of older functions
 * return CUBINET_DRIVER; the next request loads the kernel again. Unloads the modules that nothing
 * else keeps. Stores the number of kernels that were loaded; `kernels` may be NULL. */
CUBINET_EXPORT cubinet_status cubinet_runtime_forget(cubinet_runtime* runtime, int32_t device,
                                                     uint64_t* kernels, cubinet_error** error);

enum { CUBINET_ALL_DEVICES = -1 };

/* The modules that a runtime keeps loaded, and their bytes on the device. */
typedef struct cubinet_memory {
  size_t struct_size;
  uint64_t modules; /* all loaded modules */
  uint64_t bytes;
  uint64_t idle_modules; /* not in use; cubinet_runtime_trim() unloads them after the retired ones */
  uint64_t idle_bytes;
  uint64_t retired_modules; /* not in use and forgotten: cubinet_runtime_trim() unloads them first */
  uint64_t retired_bytes;
} cubinet_memory;
#define CUBINET_MEMORY_INIT \
  { sizeof(cubinet_memory), 0, 0, 0, 0, 0, 0 }

/* Reads the numbers for a device or for CUBINET_ALL_DEVICES. Does not block. */
CUBINET_EXPORT cubinet_status cubinet_runtime_memory(const cubinet_runtime* runtime, int32_t device,
                                                     cubinet_memory* memory, cubinet_error** error);

/* Unloads modules on the calling thread until at least `bytes` are freed or only modules in use
 * are left, least recently used first. First waits for the device's work; launches of other threads
 * wait meanwhile. UINT64_MAX frees all that is not in use. Functions, attentions, merges and CUDA
 * graphs keep their modules. Stores how many were freed; both pointers may be NULL. Returns
 * CUBINET_BUSY, and unloads nothing, while a stream of the device is captured. */
CUBINET_EXPORT cubinet_status cubinet_runtime_trim(cubinet_runtime* runtime, uint64_t bytes, int32_t device,
                                                   uint64_t* freed_modules, uint64_t* freed_bytes,
                                                   cubinet_error** error);

/* Labels the requests of the calling thread, for example "decode", until the next call on it. Logs
 * and counts of refusals name the label. At most 64 bytes are kept; empty: no label. Stores the
 * label before this call as a new text; `previous` may be NULL. */
CUBINET_EXPORT cubinet_status cubinet_caller_set(cubinet_string label, cubinet_text** previous,
                                                 cubinet_error** error);

/* Returns, as JSON, the stores that the runtime searches, in their order: [{"kind", "place",
 * "source", "writable", "remote", "why_read_only", "fetched_bytes", "asked", "found", "used"}].
 * "why_read_only" is the reason if a home was opened for writing and cannot be written. Does not
 * contact servers. */
CUBINET_EXPORT cubinet_status cubinet_runtime_stores(const cubinet_runtime* runtime, cubinet_text** json,
                                                     cubinet_error** error);

/* Returns the counters, the durations and the state of a runtime as JSON (docs/observability.md):
 * "requests", "seconds", "modules", "trims", "stores", "recording" and others. Does not block and
 * contacts no server. */
CUBINET_EXPORT cubinet_status cubinet_runtime_metrics(const cubinet_runtime* runtime, cubinet_text** json,
                                                      cubinet_error** error);

/* A constant label of every sample. */
typedef struct cubinet_label {
  cubinet_string name;
  cubinet_string value;
} cubinet_label;

/* Returns the metrics in the text format 0.0.4 of Prometheus, with `count` labels in every sample.
 * Values are escaped. Returns CUBINET_INVALID_ARGUMENT for more than 16 labels, a name that is
 * wrong or used, and a value of more than 256 bytes. */
CUBINET_EXPORT cubinet_status cubinet_runtime_prometheus(const cubinet_runtime* runtime,
                                                         const cubinet_label* labels, size_t count,
                                                         cubinet_text** text, cubinet_error** error);

/* Returns the journal of the runtime's home as JSON, {"entries", "damaged", "newer"}: what was
 * compiled for requests and why, the newest last. `since` is a period, such as "3h", or a time in
 * UTC, such as "2026-11-27T03:00"; `kernel` is a key or a part of the specification. An empty one
 * selects all. Returns CUBINET_UNAVAILABLE if the runtime has no home. */
CUBINET_EXPORT cubinet_status cubinet_runtime_journal(const cubinet_runtime* runtime, cubinet_string since,
                                                      cubinet_string kernel, cubinet_text** json,
                                                      cubinet_error** error);

/* ---- Specifications ------------------------------------------------------------------------ */

/* The name of a template and values for its parameters. One thread at a time may use it. */
typedef struct cubinet_spec cubinet_spec;

enum {
  CUBINET_VALUE_BOOL = 0,     /* `integer` is 0 or 1 */
  CUBINET_VALUE_INTEGER = 1,  /* `integer` */
  CUBINET_VALUE_TEXT = 2,     /* `text`: the name of a type or a choice */
  CUBINET_VALUE_FLOAT = 3,    /* `number`, rounded to single precision */
  CUBINET_VALUE_DOUBLE = 4,   /* `number` */
  CUBINET_VALUE_INTEGERS = 5, /* `count` elements of `integers` */
  CUBINET_VALUE_FLOATS = 6,   /* `count` elements of `numbers`, rounded to single precision */
  CUBINET_VALUE_DOUBLES = 7   /* `count` elements of `numbers` */
};

/* A value of a parameter. Only the members that `type` names are read. */
typedef struct cubinet_value {
  size_t struct_size;
  int32_t type; /* CUBINET_VALUE_... */
  int64_t integer;
  double number;
  cubinet_string text;
  const int64_t* integers;
  const double* numbers;
  size_t count;
} cubinet_value;
#define CUBINET_VALUE_INIT \
  { sizeof(cubinet_value), 0, 0, 0.0, {NULL, 0}, NULL, NULL, 0 }

CUBINET_EXPORT cubinet_status cubinet_spec_create(cubinet_string template_name, cubinet_spec** spec,
                                                  cubinet_error** error);
/* Sets a parameter and replaces its earlier value. The value is checked when the kernel is
 * resolved. */
CUBINET_EXPORT cubinet_status cubinet_spec_set(cubinet_spec* spec, cubinet_string parameter,
                                               const cubinet_value* value, cubinet_error** error);
CUBINET_EXPORT void cubinet_spec_release(cubinet_spec* spec);

/* ---- Kernels ------------------------------------------------------------------------------- */

/* A checked request for one kernel of one runtime. Immutable; may be shared and kept. */
typedef struct cubinet_kernel cubinet_kernel;

/* Resolves a specification: checks it against its template and fills in defaults. If no
 * template has its name, finds the stored kernel that it describes. Does not compile. May block
 * on stores. */
CUBINET_EXPORT cubinet_status cubinet_kernel_from_spec(cubinet_runtime* runtime, const cubinet_spec* spec,
                                                       cubinet_kernel** kernel, cubinet_error** error);

/* A header that a source includes by this name. */
typedef struct cubinet_header {
  cubinet_string name;
  cubinet_string text;
} cubinet_header;

/* A CUDA C++ source, as for NVRTC. All members except `folder` are part of the kernel's
 * identity. */
typedef struct cubinet_source {
  size_t struct_size;
  cubinet_string name;           /* for messages; empty: "program" */
  cubinet_string text;           /* CUDA C++ */
  const cubinet_string* kernels; /* C++ names, such as "axpy<float, 4>"; none: all by their symbols */
  size_t kernel_count;
  const cubinet_string* globals; /* C++ names of variables that cubinet_function_global() finds */
  size_t global_count;
  const cubinet_header* headers;
  size_t header_count;
  const cubinet_string* flags; /* for NVRTC */
  size_t flag_count;
  cubinet_string folder; /* searched first for quoted headers; empty: none */
} cubinet_source;
#define CUBINET_SOURCE_INIT                                                             \
  {                                                                                     \
    sizeof(cubinet_source), {NULL, 0}, {NULL, 0}, NULL, 0, NULL, 0, NULL, 0, NULL, 0, { \
      NULL, 0                                                                           \
    }                                                                                   \
  }

/* Resolves the kernels of a source. Does not compile. Launches state block and shared memory. */
CUBINET_EXPORT cubinet_status cubinet_kernel_from_source(cubinet_runtime* runtime,
                                                         const cubinet_source* source,
                                                         cubinet_kernel** kernel, cubinet_error** error);
/* Resolves the kernels of the caller's cubin, PTX or fatbinary, and keeps the image in the home
 * under `name`. Launches state block and shared memory. */
CUBINET_EXPORT cubinet_status cubinet_kernel_from_image(cubinet_runtime* runtime, cubinet_string name,
                                                        const void* image, size_t size,
                                                        cubinet_kernel** kernel, cubinet_error** error);
/* Resolves a stored kernel by its key, by the name of a function or by the name of an image, or a
 * kernel of an imported catalog of sources by its name. Returns CUBINET_INVALID_ARGUMENT, with the
 * keys, if several match. */
CUBINET_EXPORT cubinet_status cubinet_kernel_from_name(cubinet_runtime* runtime, cubinet_string name,
                                                       cubinet_kernel** kernel, cubinet_error** error);
CUBINET_EXPORT cubinet_kernel* cubinet_kernel_retain(cubinet_kernel* kernel);
CUBINET_EXPORT void cubinet_kernel_release(cubinet_kernel* kernel);

/* Returns the complete specification as JSON: {"template", "parameters"}, and "flags" if it has
 * some. */
CUBINET_EXPORT cubinet_status cubinet_kernel_describe(const cubinet_kernel* kernel, cubinet_text** json,
                                                      cubinet_error** error);

/* Returns, as JSON, which build a device of this compute capability ("9.0" or "sm_90") would get
 * and why, as `cubinet explain --json` prints it: the builds of all stores, best first, each with a
 * verdict; the target that would be compiled; and, if there is neither, the reason. Needs no
 * driver and compiles nothing. May block on stores. */
CUBINET_EXPORT cubinet_status cubinet_kernel_explain(const cubinet_kernel* kernel, cubinet_string device,
                                                     cubinet_text** json, cubinet_error** error);

enum { CUBINET_IMAGE_CUBIN = 0, CUBINET_IMAGE_PTX = 1 };

/* Returns the verified image for one exact target ("sm_90a"), without a device: from a store,
 * or compiled and kept. May compile and block. Returns CUBINET_NOT_FOUND if there is no build
 * and it may not be compiled. */
CUBINET_EXPORT cubinet_status cubinet_kernel_image(const cubinet_kernel* kernel, cubinet_string target,
                                                   int32_t kind, cubinet_text** image, cubinet_error** error);

/* Removes the kernel's functions on a device from the runtime's cache, so that the next request
 * looks in the stores again. Unloads nothing: cubinet_runtime_trim() does. Stores 1 in
 * `*released` if there was something to remove, otherwise 0; `released` may be NULL. */
CUBINET_EXPORT cubinet_status cubinet_kernel_forget(const cubinet_kernel* kernel, int32_t device,
                                                    int32_t* released, cubinet_error** error);

/* ---- Functions and launches ---------------------------------------------------------------- */

/* A loaded kernel on one device. It keeps its module loaded, and so does a CUDA graph that captured
 * a launch. */
typedef struct cubinet_function cubinet_function;

/* Finds or compiles the kernel and loads it. An empty `entry_point` means the kernel's first.
 * Blocks on files, servers, NVRTC, other builders of the same kernel and the driver. A hit does
 * none of this. */
CUBINET_EXPORT cubinet_status cubinet_function_get(const cubinet_kernel* kernel, int32_t device,
                                                   cubinet_string entry_point, cubinet_function** function,
                                                   cubinet_error** error);
/* Returns the function of a kernel that is loaded already. Otherwise returns CUBINET_NOT_FOUND,
 * with the kernel's name, and neither compiles nor loads: for look-ups in a capture. */
CUBINET_EXPORT cubinet_status cubinet_function_get_loaded(const cubinet_kernel* kernel, int32_t device,
                                                          cubinet_string entry_point,
                                                          cubinet_function** function, cubinet_error** error);
CUBINET_EXPORT cubinet_function* cubinet_function_retain(cubinet_function* function);
CUBINET_EXPORT void cubinet_function_release(cubinet_function* function);

typedef struct cubinet_function_info {
  size_t struct_size;
  cubinet_string name;   /* in the template or source; belongs to the function */
  cubinet_string symbol; /* in the ELF file; belongs to the function */
  int32_t device;
  uint32_t block[3];             /* threads; x is 0 if each launch states the block */
  uint32_t dynamic_shared_bytes; /* per block */
  uint32_t parameter_bytes;      /* size of the only argument; 0: several arguments */
  uint8_t digest[32];            /* SHA-256 of the loaded image */
  void* handle;                  /* the CUfunction; valid while the function is kept */
  /* The size in bytes of each argument, `parameter_count` of them; belong to the function. NULL if
   * neither the driver nor the image states them. */
  const uint32_t* parameter_sizes;
  size_t parameter_count;
} cubinet_function_info;
#define CUBINET_FUNCTION_INFO_INIT \
  { sizeof(cubinet_function_info), {NULL, 0}, {NULL, 0}, 0, {0, 0, 0}, 0, 0, {0}, NULL, NULL, 0 }

CUBINET_EXPORT cubinet_status cubinet_function_get_info(const cubinet_function* function,
                                                        cubinet_function_info* info, cubinet_error** error);

/* Returns address and size of a variable of the function's module (`__constant__`, `__device__`
 * or `__managed__`), valid while the function is kept. */
CUBINET_EXPORT cubinet_status cubinet_function_global(const cubinet_function* function, cubinet_string name,
                                                      uint64_t* address, size_t* size, cubinet_error** error);

/* The configuration of a launch. CUBINET_LAUNCH_CONFIG_INIT sets one block of the kernel's own
 * size, cluster and shared memory. */
typedef struct cubinet_launch_config {
  size_t struct_size;
  uint32_t grid[3];              /* blocks, all at least 1 */
  uint32_t block[3];             /* threads; x = 0: the kernel's block */
  uint32_t cluster[3];           /* blocks per cluster; x = 0: the kernel's */
  uint32_t dynamic_shared_bytes; /* UINT32_MAX: the kernel's */
  void* stream;      /* a CUstream of the device's primary context; NULL: the legacy default stream */
  uint32_t flags;    /* CUBINET_LAUNCH_... */
  uint32_t reserved; /* must be 0 */
} cubinet_launch_config;
#define CUBINET_LAUNCH_CONFIG_INIT \
  { sizeof(cubinet_launch_config), {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, UINT32_MAX, NULL, 0, 0 }
enum {
  /* The kernel may start before its predecessor in the stream ends. It has to wait for it itself
   * (griddepcontrol). Ignored before sm_90, and for kernels of templates that do not wait. */
  CUBINET_LAUNCH_PROGRAMMATIC = 1,
  CUBINET_LAUNCH_COOPERATIVE = 2,
  /* Blocks of a cluster run on different SMs if possible. */
  CUBINET_LAUNCH_SPREADS_CLUSTERS = 4
};

/* Launches the kernel. `arguments` has `count` pointers to values, `sizes` their sizes in
 * bytes, which are compared with the kernel's. Takes no lock, allocates nothing unless it
 * fails, and does not wait for the device. No context has to be current. */
CUBINET_EXPORT cubinet_status cubinet_function_launch(const cubinet_function* function,
                                                      const cubinet_launch_config* config,
                                                      const void* const* arguments, const uint32_t* sizes,
                                                      size_t count, cubinet_error** error);

/* Finds the kernel's first function on the device and launches it: cubinet_function_get and
 * cubinet_function_launch in one call, for callers that keep kernels only. The first call may
 * compile and load. Later ones take a shared lock and allocate nothing unless they fail. While
 * the stream is captured, returns CUBINET_NOT_FOUND, with the kernel's name, for a kernel that is
 * not loaded, and neither compiles nor loads it. No context has to be current. */
CUBINET_EXPORT cubinet_status cubinet_launch(const cubinet_kernel* kernel, int32_t device,
                                             const cubinet_launch_config* config,
                                             const void* const* arguments, const uint32_t* sizes,
                                             size_t count, cubinet_error** error);

/* ---- Attention ----------------------------------------------------------------------------- */

/* Element types. 0 is no type. */
enum {
  CUBINET_TYPE_FP16 = 1,
  CUBINET_TYPE_BF16 = 2,
  CUBINET_TYPE_FP32 = 3,
  CUBINET_TYPE_INT32 = 5,
  CUBINET_TYPE_E4M3 = 6,
  CUBINET_TYPE_UINT32 = 14
};
enum { CUBINET_MASK_DENSE = 0, CUBINET_MASK_CAUSAL = 1, CUBINET_MASK_CUSTOM = 3 };
enum { CUBINET_KV_NHD = 0, CUBINET_KV_HND = 1 };
/* The location of the K and V of a sequence. */
enum {
  CUBINET_KV_PAGED = 0,      /* in pages of a pool, which page_table names */
  CUBINET_KV_CONTIGUOUS = 1, /* in a cache of kv_len tokens for each sequence */
  CUBINET_KV_SEQUENCES = 2   /* one sequence after the other; kv_offsets */
};
enum {
  CUBINET_ATTENTION_RAGGED_Q = 1,          /* query tokens of the sequences are contiguous; q_offsets */
  CUBINET_ATTENTION_LSE = 2,               /* the log-sum-exp of each row is written */
  CUBINET_ATTENTION_SINKS = 4,             /* each head has a logit that only adds to the softmax sum */
  CUBINET_ATTENTION_SCALES_ON_DEVICE = 8,  /* every run reads the scales from the device */
  CUBINET_ATTENTION_APPEND = 16,           /* a run first writes the new K and V to the cache */
  CUBINET_ATTENTION_APPEND_ONLY = 32,      /* a run only writes the new K and V */
  CUBINET_ATTENTION_ROPE_INTERLEAVED = 64, /* column 2i is paired with 2i + 1, not i with i + rope_dim / 2 */
  CUBINET_ATTENTION_POSITIONS = 128,       /* the caller gives the position of each new token */
  /* With an append: lengths do not include the new tokens. -q_len leaves a sequence empty. */
  CUBINET_ATTENTION_LENGTHS_EXCLUDE_NEW = 256,
  CUBINET_ATTENTION_PREFILL = 512, /* Q has prompts, or chunks of them, and not a few tokens */
  /* A row has the same bits in every batch, chunk and page, and by prefill and by decode. K and V
   * must have 16 bits. */
  CUBINET_ATTENTION_INVARIANT = 1024,
  /* K and V of e4m3 have scales of KV heads, k_head_scales and v_head_scales, beside the others:
   * the same for all sequences, or scales of each sequence. At most one of the two. */
  CUBINET_ATTENTION_HEAD_SCALES = 2048,
  CUBINET_ATTENTION_SEQUENCE_SCALES = 4096
};

/* One call of decode attention over a paged KV cache, without its tensors. Lengths are in
 * tokens and are the largest of the batch; kv_len includes the q_len newest tokens.
 * docs/attention.md defines each member; the names are those of AttentionProblem. */
typedef struct cubinet_attention_problem {
  size_t struct_size;
  uint32_t batch;
  uint32_t q_len;
  uint32_t kv_len;
  uint32_t heads_q;
  uint32_t heads_kv;
  uint32_t head_dim_qk;
  uint32_t head_dim_v;
  int32_t type_q; /* CUBINET_TYPE_... */
  int32_t type_kv;
  int32_t type_o;
  uint32_t page_size;   /* tokens */
  int32_t kv_order;     /* CUBINET_KV_... */
  int32_t mask;         /* CUBINET_MASK_... */
  uint32_t window;      /* the most KV tokens that a row sees; 0: all */
  uint32_t flags;       /* CUBINET_ATTENTION_... */
  double softmax_scale; /* 0: 1 / sqrt(head_dim_qk), or 1 / sqrt(192) for latent attention */
  double soft_cap;      /* 0: none */
  double output_scale;
  /* Lengths that are known when the problem is planned, `batch` of them; NULL: none. They
   * affect the division of work and never the result. */
  const int32_t* kv_lengths;
  /* With CUBINET_ATTENTION_APPEND or _APPEND_ONLY: */
  int32_t append_type; /* of the new rows: bf16 or fp16 */
  uint32_t rope_dim;   /* leading columns of Q and K that are rotated; 0: none */
  double q_scale;      /* divide tensors that are stored as e4m3 */
  double k_scale;
  double v_scale;
  int32_t kv_layout; /* CUBINET_KV_PAGED, _CONTIGUOUS or _SEQUENCES; others than pages for prefill */
  int32_t reserved;  /* must be 0 */
  /* Groups of sequences that share a prefix (docs/attention.md, "Shared prefixes"); 0: none do.
   * With groups, kv_len and kv_lengths count the tokens that follow the prefix. */
  uint32_t prefix_groups;
  uint32_t prefix_len;   /* the most tokens of a prefix */
  uint32_t query_tokens; /* the most query tokens of all sequences; 0: batch times q_len */
  uint32_t group_tokens; /* the most query tokens of a group; 0: query_tokens */
  /* The lengths of the prefixes, if they are known when the problem is planned; NULL: none. */
  const int32_t* prefix_lengths;
} cubinet_attention_problem;
#define CUBINET_ATTENTION_PROBLEM_INIT                                                                \
  {                                                                                                   \
    sizeof(cubinet_attention_problem), 1, 1, 1, 1, 1, 128, 128, CUBINET_TYPE_BF16, CUBINET_TYPE_BF16, \
        CUBINET_TYPE_BF16, 64, CUBINET_KV_NHD, CUBINET_MASK_CAUSAL, 0, 0, 0.0, 0.0, 1.0, NULL,        \
        CUBINET_TYPE_BF16, 0, 1.0, 1.0, 1.0, CUBINET_KV_PAGED, 0, 0, 0, 0, 0, NULL                    \
  }

/* A tensor on the device. The innermost dimension is contiguous. `strides` count elements,
 * outermost first; all 0 for a contiguous tensor. */
typedef struct cubinet_tensor {
  uint64_t address;
  uint64_t bytes; /* from the address on that belong to the tensor */
  int64_t strides[3];
  int32_t type;     /* CUBINET_TYPE_..., compared with what the run needs; 0: not stated */
  int32_t reserved; /* must be 0 */
} cubinet_tensor;
#define CUBINET_TENSOR_INIT \
  { 0, 0, {0, 0, 0}, 0, 0 }

/* The tensors of a run. Shapes and types are those of AttentionTensors in docs/attention.md.
 * Members that the problem does not need stay zero. */
typedef struct cubinet_attention_tensors {
  size_t struct_size;
  cubinet_tensor q;             /* [batch, q_len, heads_q, head_dim_qk] */
  cubinet_tensor k;             /* [pages, page_size, heads_kv, head_dim_qk] (NHD) */
  cubinet_tensor v;             /* [pages, page_size, heads_kv, head_dim_v] (NHD) */
  cubinet_tensor o;             /* [batch, q_len, heads_q, head_dim_v] */
  cubinet_tensor page_table;    /* [batch, pages per sequence], int32 */
  cubinet_tensor kv_lengths;    /* [batch], int32 */
  cubinet_tensor lse;           /* [batch, q_len, heads_q], fp32 */
  cubinet_tensor sinks;         /* [heads_q], fp32 */
  cubinet_tensor mask;          /* packed bits of a custom mask */
  cubinet_tensor q_offsets;     /* [batch + 1], int32 */
  cubinet_tensor softmax_scale; /* one fp32, times log2(e); with CUBINET_ATTENTION_SCALES_ON_DEVICE */
  cubinet_tensor output_scale;  /* one fp32 */
  cubinet_tensor new_q;         /* the new rows of an append */
  cubinet_tensor new_k;
  cubinet_tensor new_v;
  cubinet_tensor positions; /* int32, one for each new token */
  cubinet_tensor cos_sin;   /* [positions, rope_dim], fp32 */
  cubinet_tensor q_scale;   /* one fp32 each */
  cubinet_tensor k_scale;
  cubinet_tensor v_scale;
  cubinet_tensor scratch;    /* cubinet_attention_info::scratch_bytes; or pass a cubinet_workspace */
  cubinet_tensor counters;   /* counter_bytes, zeroed before the first run; each run leaves zeros */
  cubinet_tensor kv_offsets; /* [batch + 1], int32; with CUBINET_KV_SEQUENCES */
  /* With prefix_groups: */
  cubinet_tensor prefix_page_table; /* [prefix_groups, pages of prefix_len], int32 */
  cubinet_tensor prefix_lengths;    /* [prefix_groups], int32 */
  cubinet_tensor group_offsets;     /* [prefix_groups + 1], int32: the first query token of each group */
  /* [heads_kv], fp32; [batch, heads_kv] with CUBINET_ATTENTION_SEQUENCE_SCALES */
  cubinet_tensor k_head_scales;
  cubinet_tensor v_head_scales;
} cubinet_attention_tensors;
#define CUBINET_ATTENTION_TENSORS_INIT                                                                \
  {                                                                                                   \
    sizeof(cubinet_attention_tensors), CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, \
        CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT,           \
        CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT,           \
        CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT,           \
        CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT,           \
        CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT,           \
        CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT,           \
        CUBINET_TENSOR_INIT                                                                           \
  }

/* A plan whose kernels are loaded on one device. Immutable. A CUDA graph that captured a run keeps
 * the kernels too. */
typedef struct cubinet_attention cubinet_attention;

/* Choices of a plan. NULL in place of a pointer to it means the defaults. */
typedef struct cubinet_plan_options {
  size_t struct_size;
  cubinet_string backend; /* empty: "auto" */
  uint32_t splits;        /* KV splits; 0: the plan decides */
  /* Tokens of each KV split, a multiple of 128; 0: the plan decides. With a value, the result
   * of a sequence has the same bits in every batch. */
  uint32_t split_tokens;
  uint32_t flags;    /* CUBINET_PLAN_... */
  uint32_t reserved; /* must be 0 */
  /* The version of FlashInfer whose rules select published kernels: "0.6.17". Empty: the newest one
   * that has the kernels' metadata header. */
  cubinet_string rules;
} cubinet_plan_options;
#define CUBINET_PLAN_OPTIONS_INIT                          \
  {                                                        \
    sizeof(cubinet_plan_options), {NULL, 0}, 0, 0, 0, 0, { \
      NULL, 0                                              \
    }                                                      \
  }
enum {
  CUBINET_PLAN_EXISTING_KERNELS = 1, /* use existing builds only */
  /* The first kernel may start before its predecessor in the stream ends (9.0 and up). */
  CUBINET_PLAN_STARTS_EARLY = 2,
  /* Use loaded kernels only: binding returns CUBINET_NOT_FOUND, with the kernel's name, for another
   * one. For a bind in a capture. */
  CUBINET_PLAN_LOADED_KERNELS = 4
};

/* Returns, as JSON, the plan for a device of this compute capability ("9.0" or "sm_90") and SM
 * count (0: the usual one). Needs no driver. Compiles and loads nothing. */
CUBINET_EXPORT cubinet_status cubinet_attention_plan(cubinet_runtime* runtime,
                                                     const cubinet_attention_problem* problem,
                                                     const cubinet_plan_options* options,
                                                     cubinet_string device, uint32_t sm_count,
                                                     cubinet_text** json, cubinet_error** error);
/* Plans, finds or compiles every kernel, and loads it. May block for seconds while it compiles. */
CUBINET_EXPORT cubinet_status cubinet_attention_bind(cubinet_runtime* runtime,
                                                     const cubinet_attention_problem* problem,
                                                     const cubinet_plan_options* options, int32_t device,
                                                     cubinet_attention** attention, cubinet_error** error);
CUBINET_EXPORT cubinet_attention* cubinet_attention_retain(cubinet_attention* attention);
CUBINET_EXPORT void cubinet_attention_release(cubinet_attention* attention);

typedef struct cubinet_attention_info {
  size_t struct_size;
  cubinet_string backend; /* belongs to the attention */
  cubinet_string kernel;  /* the function of the main step */
  uint32_t steps;         /* kernels that a run launches */
  uint64_t scratch_bytes; /* of the workspace */
  uint64_t counter_bytes;
  uint64_t workspace_alignment;
} cubinet_attention_info;
#define CUBINET_ATTENTION_INFO_INIT \
  { sizeof(cubinet_attention_info), {NULL, 0}, {NULL, 0}, 0, 0, 0, 0 }
CUBINET_EXPORT cubinet_status cubinet_attention_get_info(const cubinet_attention* attention,
                                                         cubinet_attention_info* info, cubinet_error** error);

/* Scratch memory of runs on one stream. Two runs that may overlap need two workspaces. */
typedef struct cubinet_workspace cubinet_workspace;
/* Allocates the memory on the device and zeroes the counters. Waits for the legacy default
 * stream; must not be called during a capture. Release it after its last run, and the last
 * launch of a graph with one, has finished. Attentions whose runs follow each other on one
 * stream may share the largest workspace of them. */
CUBINET_EXPORT cubinet_status cubinet_workspace_create(const cubinet_attention* attention,
                                                       cubinet_workspace** workspace, cubinet_error** error);
CUBINET_EXPORT void cubinet_workspace_release(cubinet_workspace* workspace);

/* Launches the plan's kernels on the stream. `workspace` may be NULL if `tensors` names scratch
 * and counters. Allocates nothing unless it fails, waits for nothing and copies nothing, so it
 * may be captured in a CUDA graph and replayed with any lengths up to kv_len. Returns
 * CUBINET_INVALID_ARGUMENT with the name of a tensor that has a wrong address, size, stride or
 * alignment. Addresses are not looked up: one that is not the device's is the kernel's fault,
 * which ends the context. */
CUBINET_EXPORT cubinet_status cubinet_attention_run(const cubinet_attention* attention,
                                                    const cubinet_attention_tensors* tensors,
                                                    const cubinet_workspace* workspace, void* stream,
                                                    cubinet_error** error);
/* Makes the checks of a run, and asks the driver whether every tensor is in the device's memory. */
CUBINET_EXPORT cubinet_status cubinet_attention_check(const cubinet_attention* attention,
                                                      const cubinet_attention_tensors* tensors,
                                                      const cubinet_workspace* workspace,
                                                      cubinet_error** error);

/* A kernel, loaded on one device, that merges two partial attention results by their log-sum-
 * exps: attention over one part of the KV (a shared prefix, the tokens of one device) and over
 * the rest. Immutable. A CUDA graph that captured a run keeps the kernel too. */
typedef struct cubinet_merge cubinet_merge;

typedef struct cubinet_merge_problem {
  size_t struct_size;
  uint32_t heads;      /* query heads */
  uint32_t head_dim;   /* columns of O, a multiple of 8 */
  int32_t type;        /* of O of both parts: bf16, fp16 or fp32 */
  int32_t type_o;      /* of the merged O: bf16, fp16, fp32 or e4m3 */
  double output_scale; /* the factor of the merged O */
} cubinet_merge_problem;
#define CUBINET_MERGE_PROBLEM_INIT \
  { sizeof(cubinet_merge_problem), 1, 128, CUBINET_TYPE_BF16, CUBINET_TYPE_BF16, 1.0 }

/* O is [tokens, heads, head_dim]; the log-sum-exps are [tokens, heads], fp32, natural logarithm. */
typedef struct cubinet_merge_tensors {
  size_t struct_size;
  cubinet_tensor first_o;
  cubinet_tensor first_lse;
  cubinet_tensor second_o;
  cubinet_tensor second_lse;
  cubinet_tensor o;   /* may be one of the parts if types and strides are equal */
  cubinet_tensor lse; /* the same; address 0: not written */
} cubinet_merge_tensors;
#define CUBINET_MERGE_TENSORS_INIT                                                                \
  {                                                                                               \
    sizeof(cubinet_merge_tensors), CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, \
        CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT, CUBINET_TENSOR_INIT                             \
  }

/* Finds or compiles the kernel and loads it. May block for seconds while it compiles. */
CUBINET_EXPORT cubinet_status cubinet_merge_bind(cubinet_runtime* runtime,
                                                 const cubinet_merge_problem* problem, int32_t device,
                                                 cubinet_merge** merge, cubinet_error** error);
/* Launches the kernel on the stream, with the guarantees of cubinet_attention_run. Launches
 * nothing if `tokens` is 0. */
CUBINET_EXPORT cubinet_status cubinet_merge_run(const cubinet_merge* merge,
                                                const cubinet_merge_tensors* tensors, uint32_t tokens,
                                                void* stream, cubinet_error** error);
CUBINET_EXPORT cubinet_merge* cubinet_merge_retain(cubinet_merge* merge);
CUBINET_EXPORT void cubinet_merge_release(cubinet_merge* merge);

/* ---- Prebuilding --------------------------------------------------------------------------- */

/* The completion of one kernel. `kernel` is empty if only time has passed. */
typedef struct cubinet_prebuild_progress {
  size_t struct_size;
  size_t done;
  size_t total;
  cubinet_string kernel;  /* "rms_norm(hidden_size=4096) for sm_90a" */
  cubinet_string outcome; /* "compiled", "registry", ..., "not found" or "failed: REASON" */
  double seconds;         /* of the compilation, or of the search */
  uint64_t bytes;         /* of the image; 0: there is none */
} cubinet_prebuild_progress;

/* The kernels of a bundle and how to build them. */
typedef struct cubinet_prebuild_options {
  size_t struct_size;
  cubinet_string output; /* the bundle to write */
  cubinet_string matrix; /* kernels as JSON (docs/cli.md); empty: none */
  /* Attention problems whose plans' kernels are also built, for a device of this compute
   * capability ("9.0") and SM count (0: the usual one). */
  const cubinet_attention_problem* const* problems;
  size_t problem_count;
  cubinet_string device;
  uint32_t sm_count;
  uint32_t jobs;          /* parallel compilations; 0: as processors and memory allow */
  cubinet_string profile; /* "plain", "ship" or "archive"; empty: "ship" */
  cubinet_string channel; /* the name of the series of versions; empty: none */
  uint64_t version;       /* the highest version of a channel is used */
  uint64_t created;       /* seconds since 1970; 0: not stated */
  uint64_t expires;
  /* Called after each kernel and several times a second in between; calls do not overlap. NULL:
   * none. The progress is valid during the call. */
  void (*progress)(void* user, const cubinet_prebuild_progress* progress);
  /* Called often. If it returns another value than 0, no further compilation begins. NULL: none. */
  int32_t (*cancelled)(void* user);
  void* user;
  /* The text of a workload whose kernels are also built, for the devices that recorded it; empty:
   * none. */
  cubinet_string workload;
} cubinet_prebuild_options;
#define CUBINET_PREBUILD_OPTIONS_INIT                                                                       \
  {                                                                                                         \
    sizeof(cubinet_prebuild_options), {NULL, 0}, {NULL, 0}, NULL, 0, {NULL, 0}, 0, 0, {NULL, 0}, {NULL, 0}, \
        0, 0, 0, NULL, NULL, NULL, {                                                                        \
      NULL, 0                                                                                               \
    }                                                                                                       \
  }

/* Compiles the kernels that no store of `config` has, and writes all of them to a bundle.
 * Blocks until it is done. Returns CUBINET_OK only if the bundle has every kernel; `*json` is
 * then the report that `cubinet prebuild --json` prints. Otherwise the error's detail is the
 * report, if there is one. Finished builds stay in the home. */
CUBINET_EXPORT cubinet_status cubinet_prebuild(const cubinet_config* config,
                                               const cubinet_prebuild_options* options, cubinet_text** json,
                                               cubinet_error** error);

/* ---- Workloads ----------------------------------------------------------------------------- */

/* Begins (`on` is not 0) or ends a recording: each kernel at its first load, and each attention
 * problem that is bound, are noted from then on. What is loaded already is not noted. */
CUBINET_EXPORT cubinet_status cubinet_runtime_record(cubinet_runtime* runtime, int32_t on,
                                                     cubinet_error** error);

/* Returns what was recorded, as the text of a workload (docs/formats/workload.md). */
CUBINET_EXPORT cubinet_status cubinet_runtime_workload(const cubinet_runtime* runtime,
                                                       cubinet_text** workload, cubinet_error** error);

/* Merges the texts of `count` workloads into one, sorted. Their order does not matter, and a
 * workload that is merged again changes nothing. Returns an error that names the line if a text is
 * truncated or not understood, and CUBINET_UNSUPPORTED for a newer version. */
CUBINET_EXPORT cubinet_status cubinet_workload_merge(const cubinet_string* workloads, size_t count,
                                                     cubinet_text** merged, cubinet_error** error);

/* A workload and how to prepare it. */
typedef struct cubinet_prepare_options {
  size_t struct_size;
  cubinet_string workload; /* its text */
  int32_t device;
  uint32_t jobs;   /* entries at a time; 0: as processors and memory allow */
  uint64_t memory; /* limit for all compilations, in bytes; 0: none */
  /* Called after each entry and several times a second in between; calls do not overlap. NULL:
   * none. `kernel` of the progress is the entry, `outcome` "loaded" or "failed: REASON"; `seconds`
   * and `bytes` are 0. The progress is valid during the call. */
  void (*progress)(void* user, const cubinet_prebuild_progress* progress);
  /* Called often. If it returns another value than 0, no further entry begins. NULL: none. */
  int32_t (*cancelled)(void* user);
  void* user;
} cubinet_prepare_options;
#define CUBINET_PREPARE_OPTIONS_INIT \
  { sizeof(cubinet_prepare_options), {NULL, 0}, 0, 0, 0, NULL, NULL, NULL }

/* Finds, fetches or compiles the kernels of a workload and loads them, in order of first use and in
 * parallel; plans each attention problem anew for the device. Blocks until it is done. Returns
 * CUBINET_OK only if everything is loaded; `*json` is then a report with "loaded", "compiled" and
 * "seconds". Otherwise the rest is prepared, and the error's detail is the report, if there is one,
 * with the reasons in "failed" and "rejected". */
CUBINET_EXPORT cubinet_status cubinet_prepare(cubinet_runtime* runtime,
                                              const cubinet_prepare_options* options, cubinet_text** json,
                                              cubinet_error** error);

/* ---- Reports ------------------------------------------------------------------------------- */

/* Returns one HTML page about `count` subjects (docs/report.md), which loads nothing and in which
 * every text is escaped: folders of homes, bundle files, references of servers, workloads, and
 * JSON results of benchmarks. A workload is compared with the homes and bundles among them, else
 * with the stores of `config`. Without subjects the page is about the home. Compiles nothing.
 * Returns CUBINET_INVALID_ARGUMENT for a subject of another kind. */
CUBINET_EXPORT cubinet_status cubinet_report(const cubinet_config* config, const cubinet_string* subjects,
                                             size_t count, cubinet_text** html, cubinet_error** error);

/* ---- Freezing ------------------------------------------------------------------------------ */

/* The kernels that are served in place of others while a runtime is frozen. */
typedef struct cubinet_freeze_options {
  size_t struct_size;
  /* `fallback_count` kernels, and for each the loaded kernel that takes the same arguments and is
   * served where the first is not loaded. */
  const cubinet_kernel* const* kernels;
  const cubinet_kernel* const* substitutes;
  size_t fallback_count;
} cubinet_freeze_options;
#define CUBINET_FREEZE_OPTIONS_INIT \
  { sizeof(cubinet_freeze_options), NULL, NULL, 0 }

/* Serves only loaded kernels from now on, until cubinet_runtime_thaw(). A request for another
 * kernel returns CUBINET_NOT_FOUND at once: nothing is compiled, loaded, downloaded or waited for.
 * Attention is planned from the loaded kernels. Requests that began before may finish. Reads the
 * rows of the stores for the devices in use; afterwards the stores are not read, and calls that
 * need them return CUBINET_UNAVAILABLE. A second call replaces the fallbacks. `options` may be
 * NULL: no fallbacks. Returns CUBINET_NOT_FOUND if a substitute is not loaded; the runtime is then
 * as before. */
CUBINET_EXPORT cubinet_status cubinet_runtime_freeze(cubinet_runtime* runtime,
                                                     const cubinet_freeze_options* options,
                                                     cubinet_error** error);

/* Ends cubinet_runtime_freeze(). Does nothing if the runtime is not frozen. */
CUBINET_EXPORT cubinet_status cubinet_runtime_thaw(cubinet_runtime* runtime, cubinet_error** error);

/* Returns, as JSON, the requests that were refused since the runtime was frozen: {"frozen",
 * "refusals": [{"kernel", "device", "caller", "count"}], "others", "fallbacks"}. "others" counts
 * the refused requests beyond 1,024 entries, "fallbacks" those that a substitute served. Does not
 * block. */
CUBINET_EXPORT cubinet_status cubinet_runtime_refusals(const cubinet_runtime* runtime, cubinet_text** json,
                                                       cubinet_error** error);

/* ---- The command --------------------------------------------------------------------------- */

/* Runs a verb of the command `cubinet` (docs/cli.md) in this process: doctor, verify, list, sign,
 * push and the others. `words` are the `count` arguments behind the program's name, such as
 * "doctor" and "--json". `variables` is the environment, as for cubinet_config_from_environment.
 * Stores the exit status: 0 done, 1 damage found or no answer, 2 wrong usage or input, 3
 * environment. If `output` is not NULL, what the command would write to stdout is stored there as
 * a text; otherwise it is written to stdout. Messages are written to stderr.
 *
 * Returns CUBINET_OK whatever the exit status. Blocks until the verb is done. A verb that is
 * interrupted (SIGINT, SIGTERM) ends the process by the signal, as the command does. Two calls
 * that run at the same time must both take their output. */
CUBINET_EXPORT cubinet_status cubinet_command(const cubinet_string* words, size_t count,
                                              const char* const* variables, int32_t* exit_status,
                                              cubinet_text** output, cubinet_error** error);

/* Runs one command line of `cubinet-nvcc` (docs/nvcc.md) in this process, for launchers of it.
 * `words` and `variables` are as for cubinet_command. `own` is the path of the launcher, which is
 * not taken for NVIDIA's nvcc. Writes to stdout and stderr. Stores the exit status.
 *
 * Returns CUBINET_OK whatever the exit status. A line that is for NVIDIA's nvcc usually replaces
 * the process by that nvcc, so that the call does not return. */
CUBINET_EXPORT cubinet_status cubinet_nvcc(const cubinet_string* words, size_t count,
                                           const char* const* variables, cubinet_string own,
                                           int32_t* exit_status, cubinet_error** error);

#ifdef __cplusplus
}
#endif

#endif /* CUBINET_CUBINET_H */
