/* The values of a kernel for one example and many supports.

   They are the same bits on every processor: the order of the sums is fixed, and so is each operation of the exponential,
   which in the libraries of C is another one where the processor multiplies and adds in one step. */

#ifndef RIVER_MARGINS_KERNEL_VALUES_H
#define RIVER_MARGINS_KERNEL_VALUES_H

#include "river_margins/core/kernels.h"

/* A support is a sparse row: `value` from `starts[i]` to `starts[i + 1]`. If `consecutive[i]`, its indices are 0, 1, 2 ... */
typedef struct {
    ptrdiff_t count;
    const ptrdiff_t *starts;
    const int32_t *index;
    const int *consecutive;
    const double *value;
    const double *norms;
} Supports;

/* The result of `dot`, in the same order of sums, for processors that add four numbers at once. */
#if defined(__GNUC__)
typedef double four __attribute__((vector_size(32)));

static inline __attribute__((always_inline)) double wide_dot(const double *a, const double *b, ptrdiff_t length)
{
    four s = {0}, t = {0}, x, y;
    double parts[8];
    ptrdiff_t i = 0;
#define ADD_NEXT(sum)            \
    memcpy(&x, a + i, sizeof x); \
    memcpy(&y, b + i, sizeof y); \
    sum += x * y;                \
    i += 4;
    while (i + 8 <= length) {
        ADD_NEXT(s)
        ADD_NEXT(t)
    }
    if (i + 4 <= length) {
        ADD_NEXT(s)
    }
#undef ADD_NEXT
    memcpy(parts, &s, sizeof s);
    memcpy(parts + 4, &t, sizeof t);
    if (i + 2 <= length) {
        parts[4] += a[i] * b[i];
        parts[5] += a[i + 1] * b[i + 1];
        i += 2;
    }
    return sum_of(load_two(parts), load_two(parts + 2), load_two(parts + 4), load_two(parts + 6), i < length ? a[i] * b[i] : 0.0);
}
#else
#define wide_dot dot
#endif

/* out[i] = ⟨x, support i⟩, for a dense x. */
ALSO_WITH_AVX2
static void products(const double *x, const Supports *supports, double *out)
{
    int is_wide = HAS_AVX2;
    for (ptrdiff_t i = 0; i < supports->count; i++) {
        ptrdiff_t start = supports->starts[i], length = supports->starts[i + 1] - start;
        const double *value = supports->value + start;
        if (!supports->consecutive[i])
            out[i] = dot_at(x, supports->index + start, value, length);
        else
            out[i] = is_wide ? wide_dot(x, value, length) : dot(x, value, length);
    }
}

/* The exponential of a number that is not above 0, within one unit in the last place; 0 for a number below -708.

   With k = x/ln 2, rounded, and r = x - k·ln 2, it is 2^k·(1 + r + r²·P(r)). P interpolates (exp(r) - 1 - r)/r² in |r| <= ln 2/2,
   with a relative error of the result below 2^-61. */
static inline double exponential(double x)
{
    static const double one_over_log_2 = 0x1.71547652b82fep+0, large = 0x1.8p+52;
    static const double log_2_high = 0x1.62e42feep-1, log_2_low = 0x1.a39ef35793c76p-33; /* k·log_2_high is exact */
    double shifted = x * one_over_log_2 + large; /* whose last bits are those of k */
    double k = shifted - large;
    double r = (x - k * log_2_high) - k * log_2_low, square = r * r, even, odd, result;
    uint64_t power, bits;
    even = 0x1.1f72fc730fcb1p-29;
    even = even * square + 0x1.27e4db67b42e0p-22;
    even = even * square + 0x1.a01a01a6d7808p-16;
    even = even * square + 0x1.6c16c16c162d6p-10;
    even = even * square + 0x1.5555555555556p-5;
    even = even * square + 0.5;
    odd = 0x1.af4ddd849007ep-26;
    odd = odd * square + 0x1.71de023756530p-19;
    odd = odd * square + 0x1.a01a01abe62ddp-13;
    odd = odd * square + 0x1.11111111100dfp-7;
    odd = odd * square + 0x1.5555555555557p-3;
    result = 1.0 + (r + square * (even + r * odd));
    memcpy(&power, &shifted, sizeof power);
    memcpy(&bits, &result, sizeof bits);
    bits += power << 52;
    memcpy(&result, &bits, sizeof result);
    return unless(x < -708.0, result);
}

/* The kernel for a distance: 1 for one that rounding has made negative. */
static inline double kernel_at(double distance, double rate) { return exponential(-rate * unless(distance <= 0.0, distance)); }

/* The largest rate·(|x|² + |v|²) for which |x - v|² is computed as |x|² + |v|² - 2⟨x, v⟩. The difference loses digits to
   cancellation; for examples far from the origin it would lose all of them. */
#define NEAR 1e3

/* out[i], which is ⟨x, support i⟩, becomes exp(-rate·|x - support i|²) + c0. Return 1 if a support was not near: see NEAR. */
ALSO_WITH_AVX2
static int gaussians(double x_square, const Supports *supports, double rate, double c0, double *out)
{
    const double *norms = supports->norms;
    int64_t others = 0;
    for (ptrdiff_t i = 0; i < supports->count; i++)
        out[i] = c0 + kernel_at(x_square + norms[i] - 2.0 * out[i], rate);
    for (ptrdiff_t i = 0; i < supports->count; i++)
        others += !(rate * (x_square + norms[i]) < NEAR);
    return others > 0;
}

/* out[i] = exp(-rate·Σ|x_j - v_j|) for each support v, where `norm` is Σ|x_j|. */
ALSO_WITH_AVX2
static void laplacians(const double *x, double norm, const Supports *supports, double rate, double *out)
{
    for (ptrdiff_t i = 0; i < supports->count; i++) {
        const int32_t *index = supports->index + supports->starts[i];
        const double *value = supports->value + supports->starts[i];
        ptrdiff_t length = supports->starts[i + 1] - supports->starts[i], j = 0;
        double part[4] = {0}, at[4], rest = 0.0;
        for (; j + 4 <= length; j += 4) {
            if (supports->consecutive[i])
                memcpy(at, x + j, sizeof at);
            else
                for (int k = 0; k < 4; k++)
                    at[k] = x[index[j + k]];
            for (int k = 0; k < 4; k++)
                part[k] += fabs(at[k] - value[j + k]) - fabs(at[k]);
        }
        for (; j < length; j++)
            rest += fabs(x[index[j]] - value[j]) - fabs(x[index[j]]);
        out[i] = norm + ((part[0] + part[2]) + (part[1] + part[3]) + rest);
    }
    for (ptrdiff_t i = 0; i < supports->count; i++)
        out[i] = kernel_at(out[i], rate);
}

#endif
