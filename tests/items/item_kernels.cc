/*
 * item_kernels.cc - all device kernels as C++, and by number what calls them with the arguments of a launch.
 *
 * Layer: tests.  C++ because a template knows the parameters of a kernel; nothing of its library is linked.
 */
#include "items/item_language.h"

#include "backends/gpu/kernels/product_types.h"

#include "backends/gpu/kernels/all_kernels.h"
#include "backends/gpu/kernels/kernel_list.h"

template <int... I> struct places {};
template <int N, int... I> struct places_to : places_to<N - 1, N - 1, I...> {};
template <int... I> struct places_to<0, I...> { typedef places<I...> type; };

template <class... P, int... I>
static bool call_with(void (*kernel)(P...), const items_argument *arguments, places<I...>) {
    if (!((arguments[I].size == sizeof(P)) && ...)) {
        return false;
    }
    kernel(*(P *)arguments[I].value...);
    return true;
}

template <class... P> static bool call(void (*kernel)(P...), const items_argument *arguments, int n) {
    return n == (int)sizeof...(P) && call_with(kernel, arguments, typename places_to<sizeof...(P)>::type());
}

template <auto kernel> static bool call_kernel(const items_argument *arguments, int n) {
    return call(kernel, arguments, n);
}

extern "C" {
#define KERNEL_CALL(name) call_kernel<name>,
const items_kernel items_kernels[] = {SR_GPU_KERNELS(KERNEL_CALL)};
#undef KERNEL_CALL

#ifdef __SANITIZE_THREAD__
void items_spoil_local_memory(void) {}
#else
extern char __start_group_memory[], __stop_group_memory[];
void items_spoil_local_memory(void) {
    memset(__start_group_memory, 0xff, (size_t)(__stop_group_memory - __start_group_memory));
}
#endif
}
