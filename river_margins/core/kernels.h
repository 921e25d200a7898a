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
#define BOTH(vector, number) return vector
#else
typedef struct { double part[2]; } two;
#define BOTH(vector, number)                 \
    two pair;                                \
    for (int i = 0; i < 2; i++)              \
        pair.part[i] = number;               \
    return pair
#endif

static inline two plus(two x, two y) { BOTH(x + y, x.part[i] + y.part[i]); }

static inline two times(two x, two y) { BOTH(x * y, x.part[i] * y.part[i]); }

static inline two times_number(double k, two y) { BOTH(k * y, k * y.part[i]); }

static inline two one_and(double k, two y) { BOTH(1.0 + k * y, 1.0 + k * y.part[i]); }

static inline two r_and(double r, two y) { BOTH(r + y, r + y.part[i]); }

static inline two one_over(two x) { BOTH(1.0 / x, 1.0 / x.part[i]); }

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

/* The sum of numbers, PAIR of which gives two at a time. */
#define SUM(PAIR, ONE)                          \
    two s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}; \
    ptrdiff_t i = 0;                            \
    for (; i + 8 <= length; i += 8) {           \
        s0 = plus(s0, PAIR(i));                 \
        s1 = plus(s1, PAIR(i + 2));             \
        s2 = plus(s2, PAIR(i + 4));             \
        s3 = plus(s3, PAIR(i + 6));             \
    }                                           \
    if (i + 4 <= length) {                      \
        s0 = plus(s0, PAIR(i));                 \
        s1 = plus(s1, PAIR(i + 2));             \
        i += 4;                                 \
    }                                           \
    if (i + 2 <= length) {                      \
        s2 = plus(s2, PAIR(i));                 \
        i += 2;                                 \
    }                                           \
    return sum_of(s0, s1, s2, s3, i < length ? ONE(i) : 0.0);

/* The sum of a[i]·b[i], or with an index of a[index[i]]·b[i]. */
static inline double dot(const double *a, const double *b, ptrdiff_t length)
{
#define PAIR(i) times(two_at(a + (i)), two_at(b + (i)))
#define ONE(i) (a[i] * b[i])
    SUM(PAIR, ONE)
#undef PAIR
#undef ONE
}

static inline double dot_at(const double *a, const int32_t *index, const double *b, ptrdiff_t length)
{
#define PAIR(i) times(two_of(a, index + (i)), two_at(b + (i)))
#define ONE(i) (a[index[i]] * b[i])
    SUM(PAIR, ONE)
#undef PAIR
#undef ONE
}

/* y += factor·x; the two do not overlap. */
static inline void add_multiple(double *__restrict y, const double *__restrict x, double factor, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++)
        y[i] += factor * x[i];
}

/* For a covariance that is a diagonal s: the variance x'Σx, with Σx left in `along` and the terms of the sum in `terms`.
   Nothing overlaps here and below. */
static inline double variance_along(double *__restrict along, double *__restrict terms, const double *__restrict s,
                                    const double *__restrict x, ptrdiff_t length)
{
#define PAIR(i) kept_at(terms + (i), times(kept_at(along + (i), times(two_at(s + (i)), two_at(x + (i)))), two_at(x + (i))))
#define ONE(i) (terms[i] = (along[i] = s[i] * x[i]) * x[i])
    SUM(PAIR, ONE)
#undef PAIR
#undef ONE
}

static inline double variance_along_at(double *__restrict along, double *__restrict terms, const double *__restrict s,
                                       const int32_t *__restrict index, const double *__restrict x, ptrdiff_t length)
{
#define PAIR(i) \
    kept_at(terms + (i), times(kept_at(along + (i), times(two_of(s, index + (i)), two_at(x + (i)))), two_at(x + (i))))
#define ONE(i) (terms[i] = (along[i] = s[index[i]] * x[i]) * x[i])
    SUM(PAIR, ONE)
#undef PAIR
#undef ONE
}

/* A division takes as long as ten products, so two pairs share one, where no product of two overflows or vanishes: with
   no number below `least` or above `most`. */
static inline int share(double least, double most) { return least > 1e-75 && most < 1e75; }

/* The sum of a[i]·along[i]·r/(r + terms[i]), terms that add up to `all`: a score of Σ⁻¹a with xx'/r in Σ⁻¹ already. */
#define DOT_SURER(PAIR, ONE)                                                                    \
    two sum = {0}, none = {0};                                                                  \
    double rest = 0.0;                                                                          \
    ptrdiff_t i = 0;                                                                            \
    for (; share(r, r + all) && i + 4 <= length; i += 4) {                                      \
        two one = r_and(r, two_at(terms + i)), other = r_and(r, two_at(terms + i + 2));         \
        two crossed = plus(times(PAIR(i), other), times(PAIR(i + 2), one));                     \
        sum = plus(sum, times(crossed, one_over(times(one, other))));                           \
    }                                                                                           \
    for (; i < length; i++)                                                                     \
        rest += ONE(i) / (r + terms[i]);                                                        \
    return r * sum_of(sum, none, none, none, rest);

static inline double dot_surer(const double *a, const double *along, const double *terms, double r, double all,
                               ptrdiff_t length)
{
#define PAIR(i) times(two_at(a + (i)), two_at(along + (i)))
#define ONE(i) (a[i] * along[i])
    DOT_SURER(PAIR, ONE)
#undef PAIR
#undef ONE
}

static inline double dot_surer_at(const double *a, const int32_t *index, const double *along, const double *terms,
                                  double r, double all, ptrdiff_t length)
{
#define PAIR(i) times(two_of(a, index + (i)), two_at(along + (i)))
#define ONE(i) (a[index[i]] * along[i])
    DOT_SURER(PAIR, ONE)
#undef PAIR
#undef ONE
}

/* A move: a[i] grows by step·towards[i], and s[i] becomes s[i]/(1 + k·terms[i]), never more than it was; no k·term is
   above `most`. */
#define MOVE(PAIR, ONE)                                                                        \
    ptrdiff_t i = 0;                                                                           \
    for (; share(1.0, most) && i + 4 <= length; i += 4) {                                      \
        two one = one_and(k, two_at(terms + i)), other = one_and(k, two_at(terms + i + 2));    \
        two both = one_over(times(one, other));                                                \
        PAIR(i, times(both, other));                                                           \
        PAIR(i + 2, times(both, one));                                                         \
    }                                                                                          \
    for (; i < length; i++) {                                                                  \
        ONE(a, i) += step * towards[i];                                                        \
        ONE(s, i) *= 1.0 / (1.0 + k * terms[i]);                                               \
    }

static inline void move_surer(double *__restrict a, double *__restrict s, const double *__restrict towards,
                              const double *__restrict terms, double step, double k, double most, ptrdiff_t length)
{
#define ONE(numbers, i) numbers[i]
#define PAIR(i, left)                                                                  \
    kept_at(a + (i), plus(two_at(a + (i)), times_number(step, two_at(towards + (i))))); \
    kept_at(s + (i), times(two_at(s + (i)), left))
    MOVE(PAIR, ONE)
#undef PAIR
#undef ONE
}

static inline void move_surer_at(double *__restrict a, double *__restrict s, const int32_t *__restrict index,
                                 const double *__restrict towards, const double *__restrict terms, double step, double k,
                                 double most, ptrdiff_t length)
{
    double pair[2];
#define ONE(numbers, i) numbers[index[i]]
#define PAIR(i, left)                                                                  \
    kept_at(pair, left);                                                               \
    for (int j = 0; j < 2; j++) {                                                      \
        ONE(a, i + j) += step * towards[i + j];                                        \
        ONE(s, i + j) *= pair[j];                                                      \
    }
    MOVE(PAIR, ONE)
#undef PAIR
#undef ONE
}

#undef MOVE
#undef DOT_SURER
#undef SUM
#undef BOTH
#endif
