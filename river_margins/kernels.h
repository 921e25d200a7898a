/* The sums that a round is made of.

   Eight running sums, because one would wait for its own last addition at every step; and always these eight, in this
   order, so that an example gives the same bits whichever way it came in. */

#ifndef RIVER_MARGINS_KERNELS_H
#define RIVER_MARGINS_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Two numbers side by side: one register wherever GCC or Clang compile to. */
#if defined(__GNUC__)
typedef double two __attribute__((vector_size(16)));
#define PLUS_PRODUCT(sum, x, y) ((sum) += (x) * (y))
#else
typedef struct { double part[2]; } two;
#define PLUS_PRODUCT(sum, x, y) ((sum).part[0] += (x).part[0] * (y).part[0], (sum).part[1] += (x).part[1] * (y).part[1])
#endif

static inline two times(two x, two y)
{
#if defined(__GNUC__)
    return x * y;
#else
    two pair = {{x.part[0] * y.part[0], x.part[1] * y.part[1]}};
    return pair;
#endif
}

/* 1 + k·y */
static inline two one_and(double k, two y)
{
#if defined(__GNUC__)
    return 1.0 + k * y;
#else
    two pair = {{1.0 + k * y.part[0], 1.0 + k * y.part[1]}};
    return pair;
#endif
}

static inline two one_over(two x)
{
#if defined(__GNUC__)
    return 1.0 / x;
#else
    two pair = {{1.0 / x.part[0], 1.0 / x.part[1]}};
    return pair;
#endif
}

static inline two kept_at(double *a, two pair)
{
    memcpy(a, &pair, sizeof pair);
    return pair;
}

static inline two two_at(const double *a)
{
    two pair;
    memcpy(&pair, a, sizeof pair);
    return pair;
}

static inline two two_of(const double *a, const int32_t *index)
{
    double pair[2] = {a[index[0]], a[index[1]]};
    return two_at(pair);
}

static inline double sum_of(two s0, two s1, two s2, two s3, double rest)
{
    double s[8];
    memcpy(s, &s0, sizeof s0);
    memcpy(s + 2, &s1, sizeof s1);
    memcpy(s + 4, &s2, sizeof s2);
    memcpy(s + 6, &s3, sizeof s3);
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])) + rest;
}

/* The sum of a[i]·b[i], or with an index of a[index[i]]·b[i]. */
#define DOT(PAIR, ONE)                                       \
    two s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};              \
    ptrdiff_t i = 0;                                         \
    for (; i + 8 <= length; i += 8) {                        \
        PLUS_PRODUCT(s0, PAIR(i), two_at(b + i));            \
        PLUS_PRODUCT(s1, PAIR(i + 2), two_at(b + i + 2));    \
        PLUS_PRODUCT(s2, PAIR(i + 4), two_at(b + i + 4));    \
        PLUS_PRODUCT(s3, PAIR(i + 6), two_at(b + i + 6));    \
    }                                                        \
    if (i + 4 <= length) {                                   \
        PLUS_PRODUCT(s0, PAIR(i), two_at(b + i));            \
        PLUS_PRODUCT(s1, PAIR(i + 2), two_at(b + i + 2));    \
        i += 4;                                              \
    }                                                        \
    if (i + 2 <= length) {                                   \
        PLUS_PRODUCT(s2, PAIR(i), two_at(b + i));            \
        i += 2;                                              \
    }                                                        \
    return sum_of(s0, s1, s2, s3, i < length ? ONE(i) * b[i] : 0.0);

static inline double dot(const double *a, const double *b, ptrdiff_t length)
{
#define PAIR(i) two_at(a + (i))
#define ONE(i) a[i]
    DOT(PAIR, ONE)
#undef PAIR
#undef ONE
}

static inline double dot_at(const double *a, const int32_t *index, const double *b, ptrdiff_t length)
{
#define PAIR(i) two_of(a, index + (i))
#define ONE(i) a[index[i]]
    DOT(PAIR, ONE)
#undef PAIR
#undef ONE
}

/* y += factor·x; the two do not overlap. */
static inline void add_multiple(double *__restrict y, const double *__restrict x, double factor, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++)
        y[i] += factor * x[i];
}

/* For a covariance that is a diagonal s: the variance x'Σx, with Σx left in `along`. Nothing overlaps here and below. */
static inline double variance_along(double *__restrict along, const double *__restrict s, const double *__restrict b,
                                    ptrdiff_t length)
{
#define PAIR(i) kept_at(along + (i), times(two_at(s + (i)), two_at(b + (i))))
#define ONE(i) (along[i] = s[i] * b[i])
    DOT(PAIR, ONE)
#undef PAIR
#undef ONE
}

static inline double variance_along_at(double *__restrict along, const double *__restrict s,
                                       const int32_t *__restrict index, const double *__restrict b, ptrdiff_t length)
{
#define PAIR(i) kept_at(along + (i), times(two_of(s, index + (i)), two_at(b + (i))))
#define ONE(i) (along[i] = s[index[i]] * b[i])
    DOT(PAIR, ONE)
#undef PAIR
#undef ONE
}

/* The sum of a[i]·b[i]·left[i], where left[i] = 1/(1 + k·b[i]·x[i]): where b is Σx, with k·xx' in the inverse of Σ. No
   k·b·x is above `most`: then no product of two can overflow, and they share a division, which takes as long as ten
   products. */
#define DOT_SURER(PAIR, ONE)                                                            \
    two s0 = {0}, s1 = {0}, none = {0};                                                 \
    double rest = 0.0;                                                                  \
    ptrdiff_t i = 0;                                                                    \
    for (; most < 1e150 && i + 4 <= length; i += 4) {                                   \
        two b0 = two_at(b + i), b1 = two_at(b + i + 2);                                 \
        two one = one_and(k, times(b0, two_at(x + i)));                                 \
        two other = one_and(k, times(b1, two_at(x + i + 2)));                           \
        two both = one_over(times(one, other));                                         \
        PLUS_PRODUCT(s0, kept_at(left + i, times(both, other)), times(b0, PAIR(i)));    \
        PLUS_PRODUCT(s1, kept_at(left + i + 2, times(both, one)), times(b1, PAIR(i + 2))); \
    }                                                                                   \
    for (; i < length; i++) {                                                           \
        left[i] = 1.0 / (1.0 + k * (b[i] * x[i]));                                      \
        rest += left[i] * (b[i] * ONE(i));                                              \
    }                                                                                   \
    return sum_of(s0, s1, none, none, rest);

static inline double dot_surer(double *__restrict left, const double *__restrict a, const double *__restrict x, double k,
                               double most, const double *__restrict b, ptrdiff_t length)
{
#define PAIR(i) two_at(a + (i))
#define ONE(i) a[i]
    DOT_SURER(PAIR, ONE)
#undef PAIR
#undef ONE
}

static inline double dot_surer_at(double *__restrict left, const double *__restrict a, const int32_t *__restrict index,
                                  const double *__restrict x, double k, double most, const double *__restrict b,
                                  ptrdiff_t length)
{
#define PAIR(i) two_of(a, index + (i))
#define ONE(i) a[index[i]]
    DOT_SURER(PAIR, ONE)
#undef PAIR
#undef ONE
}

/* y *= x. */
static inline void multiply(double *__restrict y, const double *__restrict x, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++)
        y[i] *= x[i];
}

static inline void multiply_at(double *__restrict y, const int32_t *__restrict index, const double *__restrict x,
                               ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++)
        y[index[i]] *= x[i];
}

/* s becomes s/(1 + k·unit·s·x²). */
static inline void shrink_diagonal(double *__restrict s, const double *__restrict x, double unit, double k,
                                   ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++)
        s[i] *= 1.0 / (1.0 + k * (unit * (s[i] * x[i] * x[i])));
}

static inline void shrink_diagonal_at(double *__restrict s, const int32_t *__restrict index, const double *__restrict x,
                                      double unit, double k, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++)
        s[index[i]] *= 1.0 / (1.0 + k * (unit * (s[index[i]] * x[i] * x[i])));
}

#undef DOT_SURER
#undef DOT
#undef PLUS_PRODUCT
#endif
