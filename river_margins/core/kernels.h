/* The inner loops of a round.

   A sum is kept in eight parts, because with one part each addition would wait for the last one. The parts are always the
   same eight and are added in the same order, so an example gives the same bits as a dict, as a row of a frame, or sparse. */

#ifndef RIVER_MARGINS_KERNELS_H
#define RIVER_MARGINS_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A pair of numbers, in one register if GCC or Clang compile. */
#if defined(__GNUC__)
typedef double two __attribute__((vector_size(16)));
#define BOTH(vector, number) return vector
#else
typedef struct { double part[2]; } two;
#define BOTH(vector, number)    \
    two pair;                   \
    for (int i = 0; i < 2; i++) \
        pair.part[i] = number;  \
    return pair
#endif

static inline two plus(two x, two y) { BOTH(x + y, x.part[i] + y.part[i]); }

static inline two times(two x, two y) { BOTH(x * y, x.part[i] * y.part[i]); }

static inline two times_number(double k, two y) { BOTH(k * y, k * y.part[i]); }

static inline two one_plus(double k, two y) { BOTH(1.0 + k * y, 1.0 + k * y.part[i]); }

static inline two r_plus(double r, two y) { BOTH(r + y, r + y.part[i]); }

static inline two one_over(two x) { BOTH(1.0 / x, 1.0 / x.part[i]); }

static inline two store_two(double *a, two pair)
{
    memcpy(a, &pair, sizeof pair);
    return pair;
}

static inline two load_two(const double *a)
{
    two pair;
    memcpy(&pair, a, sizeof pair);
    return pair;
}

static inline two gather_two(const double *a, const int32_t *index)
{
    double pair[2] = {a[index[0]], a[index[1]]};
    return load_two(pair);
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

/* The sum of numbers. PAIR(i) gives numbers i and i + 1, ONE(i) gives number i. */
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

/* The sum of a[i]·b[i] or, with an index, of a[index[i]]·b[i]. */
static inline double dot(const double *a, const double *b, ptrdiff_t length)
{
#define PAIR(i) times(load_two(a + (i)), load_two(b + (i)))
#define ONE(i) (a[i] * b[i])
    SUM(PAIR, ONE)
#undef PAIR
#undef ONE
}

static inline double dot_at(const double *a, const int32_t *index, const double *b, ptrdiff_t length)
{
#define PAIR(i) times(gather_two(a, index + (i)), load_two(b + (i)))
#define ONE(i) (a[index[i]] * b[i])
    SUM(PAIR, ONE)
#undef PAIR
#undef ONE
}

/* The results of dot_at(a, index, b, length) and, in `square`, of dot(b, b, length), in one pass over b. */
static inline double dot_at_and_square(const double *a, const int32_t *index, const double *b, ptrdiff_t length,
                                       double *square)
{
    two s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, q0 = {0}, q1 = {0}, q2 = {0}, q3 = {0};
    ptrdiff_t i = 0;
#define BOTH_SUMS(s, q, i)                              \
    {                                                   \
        two pair = load_two(b + (i));                   \
        s = plus(s, times(gather_two(a, index + (i)), pair)); \
        q = plus(q, times(pair, pair));                 \
    }
    for (; i + 8 <= length; i += 8) {
        BOTH_SUMS(s0, q0, i)
        BOTH_SUMS(s1, q1, i + 2)
        BOTH_SUMS(s2, q2, i + 4)
        BOTH_SUMS(s3, q3, i + 6)
    }
    if (i + 4 <= length) {
        BOTH_SUMS(s0, q0, i)
        BOTH_SUMS(s1, q1, i + 2)
        i += 4;
    }
    if (i + 2 <= length) {
        BOTH_SUMS(s2, q2, i)
        i += 2;
    }
#undef BOTH_SUMS
    *square = sum_of(q0, q1, q2, q3, i < length ? b[i] * b[i] : 0.0);
    return sum_of(s0, s1, s2, s3, i < length ? a[index[i]] * b[i] : 0.0);
}

/* y += factor·x. The two do not overlap. */
static inline void add_multiple(double *__restrict y, const double *__restrict x, double factor, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++)
        y[i] += factor * x[i];
}

/* For a covariance that is a diagonal s: the variance x'Σx, with Σx left in `along` and the terms of the sum in `terms`.
   The arrays do not overlap, here and below. */
static inline double variance_along(double *__restrict along, double *__restrict terms, const double *__restrict s,
                                    const double *__restrict x, ptrdiff_t length)
{
#define ALONG(i) store_two(along + (i), times(load_two(s + (i)), load_two(x + (i))))
#define PAIR(i) store_two(terms + (i), times(ALONG(i), load_two(x + (i))))
#define ONE(i) (terms[i] = (along[i] = s[i] * x[i]) * x[i])
    SUM(PAIR, ONE)
#undef ALONG
#undef PAIR
#undef ONE
}

static inline double variance_along_at(double *__restrict along, double *__restrict terms, const double *__restrict s,
                                       const int32_t *__restrict index, const double *__restrict x, ptrdiff_t length)
{
#define ALONG(i) store_two(along + (i), times(gather_two(s, index + (i)), load_two(x + (i))))
#define PAIR(i) store_two(terms + (i), times(ALONG(i), load_two(x + (i))))
#define ONE(i) (terms[i] = (along[i] = s[index[i]] * x[i]) * x[i])
    SUM(PAIR, ONE)
#undef ALONG
#undef PAIR
#undef ONE
}

/* The same for variances a/(1 + factor·q[i]), of which the sums q are kept. */
static inline double discounted_variance_along(double *__restrict along, double *__restrict terms, const double *__restrict q,
                                               const double *__restrict x, double a, double factor, ptrdiff_t length)
{
#define ALONG(i)                                                                                       \
    store_two(along + (i), times(times_number(a, one_over(one_plus(factor, load_two(q + (i))))), load_two(x + (i))))
#define PAIR(i) store_two(terms + (i), times(ALONG(i), load_two(x + (i))))
#define ONE(i) (terms[i] = (along[i] = a * (1.0 / (1.0 + factor * q[i])) * x[i]) * x[i])
    SUM(PAIR, ONE)
#undef ALONG
#undef PAIR
#undef ONE
}

static inline double discounted_variance_along_at(double *__restrict along, double *__restrict terms,
                                                  const double *__restrict q, const int32_t *__restrict index,
                                                  const double *__restrict x, double a, double factor, ptrdiff_t length)
{
#define ALONG(i) \
    store_two(along + (i), times(times_number(a, one_over(one_plus(factor, gather_two(q, index + (i))))), load_two(x + (i))))
#define PAIR(i) store_two(terms + (i), times(ALONG(i), load_two(x + (i))))
#define ONE(i) (terms[i] = (along[i] = a * (1.0 / (1.0 + factor * q[index[i]])) * x[i]) * x[i])
    SUM(PAIR, ONE)
#undef ALONG
#undef PAIR
#undef ONE
}

/* A division takes as long as ten products, so two pairs of numbers share one. This needs a product of any two that neither
   overflows nor becomes 0: no number is below `least` or above `most`. */
static inline int can_share_division(double least, double most) { return least > 1e-75 && most < 1e75; }

/* The look-ahead score: the sum of a[i]·along[i]·r/(r + terms[i]). The terms add up to `all`. */
#define LOOKAHEAD_DOT(PAIR, ONE)                                                              \
    two sum = {0}, none = {0};                                                                \
    double rest = 0.0;                                                                        \
    ptrdiff_t i = 0;                                                                          \
    for (; can_share_division(r, r + all) && i + 4 <= length; i += 4) {                       \
        two one = r_plus(r, load_two(terms + i)), other = r_plus(r, load_two(terms + i + 2)); \
        two crossed = plus(times(PAIR(i), other), times(PAIR(i + 2), one));                   \
        sum = plus(sum, times(crossed, one_over(times(one, other))));                         \
    }                                                                                         \
    for (; i < length; i++)                                                                   \
        rest += ONE(i) / (r + terms[i]);                                                      \
    return r * sum_of(sum, none, none, none, rest);

static inline double lookahead_dot(const double *a, const double *along, const double *terms, double r, double all,
                                   ptrdiff_t length)
{
#define PAIR(i) times(load_two(a + (i)), load_two(along + (i)))
#define ONE(i) (a[i] * along[i])
    LOOKAHEAD_DOT(PAIR, ONE)
#undef PAIR
#undef ONE
}

static inline double lookahead_dot_at(const double *a, const int32_t *index, const double *along, const double *terms,
                                      double r, double all, ptrdiff_t length)
{
#define PAIR(i) times(gather_two(a, index + (i)), load_two(along + (i)))
#define ONE(i) (a[index[i]] * along[i])
    LOOKAHEAD_DOT(PAIR, ONE)
#undef PAIR
#undef ONE
}

/* A move: a[i] grows by step·towards[i], and s[i] becomes s[i]/(1 + k·terms[i]), which is never larger. No k·terms[i] is
   above `most`. */
#define MOVE(PAIR, ONE)                                                                           \
    ptrdiff_t i = 0;                                                                              \
    for (; can_share_division(1.0, most) && i + 4 <= length; i += 4) {                            \
        two one = one_plus(k, load_two(terms + i)), other = one_plus(k, load_two(terms + i + 2)); \
        two both = one_over(times(one, other));                                                   \
        PAIR(i, times(both, other));                                                              \
        PAIR(i + 2, times(both, one));                                                            \
    }                                                                                             \
    for (; i < length; i++) {                                                                     \
        ONE(a, i) += step * towards[i];                                                           \
        ONE(s, i) *= 1.0 / (1.0 + k * terms[i]);                                                  \
    }

static inline void move_and_shrink(double *__restrict a, double *__restrict s, const double *__restrict towards,
                                   const double *__restrict terms, double step, double k, double most, ptrdiff_t length)
{
#define ONE(numbers, i) numbers[i]
#define PAIR(i, left)                                                                         \
    store_two(a + (i), plus(load_two(a + (i)), times_number(step, load_two(towards + (i))))); \
    store_two(s + (i), times(load_two(s + (i)), left))
    MOVE(PAIR, ONE)
#undef PAIR
#undef ONE
}

static inline void move_and_shrink_at(double *__restrict a, double *__restrict s, const int32_t *__restrict index,
                                      const double *__restrict towards, const double *__restrict terms, double step, double k,
                                      double most, ptrdiff_t length)
{
    double pair[2];
#define ONE(numbers, i) numbers[index[i]]
#define PAIR(i, left)                           \
    store_two(pair, left);                      \
    for (int j = 0; j < 2; j++) {               \
        ONE(a, i + j) += step * towards[i + j]; \
        ONE(s, i + j) *= pair[j];               \
    }
    MOVE(PAIR, ONE)
#undef PAIR
#undef ONE
}

/* A move where sums are kept in place of variances: a[i] grows by step·towards[i]·growth, and q[i] by k·x[i]², up to `most`. */
static inline void move_and_add(double *__restrict a, double *__restrict q, const int32_t *__restrict index,
                                const double *__restrict towards, const double *__restrict x, double step, double growth,
                                double k, double most, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++) {
        double sum = q[index[i]] + k * x[i] * x[i];
        a[index[i]] += step * towards[i] * growth;
        q[index[i]] = sum < most ? sum : most;
    }
}

#undef MOVE
#undef LOOKAHEAD_DOT
#undef SUM
#undef BOTH
#endif
