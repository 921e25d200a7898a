/* The inner loops of a round.

   A sum is kept in eight parts, because with one part each addition would wait for the last one. The parts are always the
   same eight and are added in the same order, so an example gives the same bits as a dict, as a row of a frame, or sparse. */

#ifndef RIVER_MARGINS_KERNELS_H
#define RIVER_MARGINS_KERNELS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Before a function: it is compiled twice, also for processors with AVX2, and the loader takes the one that suits. A sanitizer is
   not ready yet when the loader asks. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define ALSO_WITH_AVX2 __attribute__((target_clones("avx2", "default")))
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#else
#define ALSO_WITH_AVX2
#define HAS_AVX2 0
#endif

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

static inline two minus(two x, two y) { BOTH(x - y, x.part[i] - y.part[i]); }

static inline two over(two x, two y) { BOTH(x / y, x.part[i] / y.part[i]); }

/* Both roots by one instruction, whatever a compiler makes of a loop. */
static inline two root(two x)
{
#if defined(__SSE2__) && defined(__GNUC__)
    return (two)_mm_sqrt_pd((__m128d)x);
#else
    BOTH(((two){sqrt(x[0]), sqrt(x[1])}), sqrt(x.part[i]));
#endif
}

/* x, or 0 if a condition holds. A branch in their loops would keep compilers from computing several exponentials at once. */
static inline double unless(int condition, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= (uint64_t)condition - 1;
    memcpy(&x, &bits, sizeof x);
    return x;
}

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
    double s[2];
    store_two(s, plus(plus(s0, s2), plus(s1, s3)));
    return s[0] + s[1] + rest;
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

/* Find index[i] = index_of[column[i]], then the results of dot_at(a, index, b, length) and, in `square`, of dot(b, b, length),
   in one pass. Return 0 if an index is negative: then `index`, which may be `column` itself, is filled in part. */
static inline int find_dot_and_square(const double *a, const int32_t *index_of, const int32_t *column, int32_t *index,
                                      const double *b, ptrdiff_t length, double *sum, double *square)
{
    two s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, q0 = {0}, q1 = {0}, q2 = {0}, q3 = {0};
    ptrdiff_t i = 0;
#define FIND(i)                               \
    if ((index[i] = index_of[column[i]]) < 0) \
        return 0;
#define BOTH_SUMS(s, q, i)                                    \
    {                                                         \
        two pair = load_two(b + (i));                         \
        FIND(i)                                               \
        FIND((i) + 1)                                         \
        s = plus(s, times(gather_two(a, index + (i)), pair)); \
        q = plus(q, times(pair, pair));                       \
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
    if (i < length)
        FIND(i)
    *sum = sum_of(s0, s1, s2, s3, i < length ? a[index[i]] * b[i] : 0.0);
    *square = sum_of(q0, q1, q2, q3, i < length ? b[i] * b[i] : 0.0);
    return 1;
#undef BOTH_SUMS
#undef FIND
}

/* y += factor·x. The two do not overlap. */
static inline void add_multiple(double *__restrict y, const double *__restrict x, double factor, ptrdiff_t length)
{
    for (ptrdiff_t i = 0; i < length; i++)
        y[i] += factor * x[i];
}

/* The same for y[index[i]], where no index comes twice. */
static inline void add_multiple_at(double *__restrict y, const int32_t *__restrict index, const double *__restrict x,
                                   double factor, ptrdiff_t length)
{
    double pair[2];
    ptrdiff_t i = 0;
    for (; i + 2 <= length; i += 2) {
        store_two(pair, times_number(factor, load_two(x + i)));
        y[index[i]] += pair[0];
        y[index[i + 1]] += pair[1];
    }
    if (i < length)
        y[index[i]] += factor * x[i];
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

/* What a scaler knows of a feature. `deviation` is the square root of the variance, or 0 if that is not above 0. */
typedef struct {
    double count, mean, variance, deviation;
} Moments;

static inline double deviation_of(double variance) { return variance > 0.0 ? sqrt(variance) : 0.0; }

/* Where a mean that forgets arrives: if it is too near to the value for a step, at the value. Else a variance of rounding
   would be left of a feature that stands still. */
static inline double arrived(double before, double after, double value) { return after == before ? value : after; }

/* Welford's recurrence, in which the weights of the values before are first multiplied by `kept`. */
static inline Moments with_value(Moments moments, double value, double kept)
{
    double before = moments.mean, from_old = value - before;
    moments.count = 1.0 + kept * moments.count;
    moments.mean += from_old / moments.count;
    if (kept < 1.0)
        moments.mean = arrived(before, moments.mean, value);
    moments.variance += (from_old * (value - moments.mean) - moments.variance) / moments.count;
    moments.deviation = deviation_of(moments.variance);
    return moments;
}

/* The nearest number to the value from -most to most. A value that is not a number stays so. */
static inline double within(double value, double most) { return value > most ? most : value < -most ? -most : value; }

/* The value scaled to mean 0 and, to `divide`, variance 1, and `most` at most. A feature that never varied becomes 0. */
static inline double scaled(double value, const Moments *moments, int divide, double most)
{
    value -= moments->mean;
    if (divide)
        return moments->deviation > 0.0 ? within(value / moments->deviation, most) : 0.0;
    return value;
}

static inline two scaled_two(two from_mean, const double *deviation, double most)
{
    double quotients[2];
    store_two(quotients, over(from_mean, load_two(deviation)));
    for (int i = 0; i < 2; i++)
        quotients[i] = deviation[i] > 0.0 ? within(quotients[i], most) : 0.0;
    return load_two(quotients);
}

/* For all values: moved[i] = with_value(moments[index[i]], value[i]), later[i] = scaled(value[i], moved + i), and value[i] is
   scaled by the moments before. Two features share each division: divisions take most of the time. */
static inline void scale_and_move(double *__restrict value, double *__restrict later, Moments *__restrict moved,
                                  const Moments *__restrict moments, const int32_t *__restrict index, double kept,
                                  int divide, double most, ptrdiff_t length)
{
    ptrdiff_t i = 0;
    for (; i + 2 <= length; i += 2) {
        const Moments *one = moments + index[i], *other = moments + index[i + 1];
        double counts[2] = {one->count, other->count}, means[2] = {one->mean, other->mean};
        double variances[2] = {one->variance, other->variance}, deviations[2] = {one->deviation, other->deviation}, roots[2];
        two count = one_plus(kept, load_two(counts)), mean = load_two(means), variance = load_two(variances);
        two given = load_two(value + i), from_old = minus(given, mean), from_new;
        mean = store_two(means, plus(mean, over(from_old, count)));
        if (kept < 1.0) {
            means[0] = arrived(one->mean, means[0], value[i]);
            means[1] = arrived(other->mean, means[1], value[i + 1]);
            mean = load_two(means);
        }
        from_new = minus(given, mean);
        store_two(counts, count);
        store_two(variances, plus(variance, over(minus(times(from_old, from_new), variance), count)));
        store_two(roots, root(load_two(variances)));
        for (int j = 0; j < 2; j++)
            moved[i + j] = (Moments){counts[j], means[j], variances[j], variances[j] > 0.0 ? roots[j] : 0.0};
        store_two(value + i, divide ? scaled_two(from_old, deviations, most) : from_old);
        deviations[0] = moved[i].deviation;
        deviations[1] = moved[i + 1].deviation;
        store_two(later + i, divide ? scaled_two(from_new, deviations, most) : from_new);
    }
    if (i < length) {
        moved[i] = with_value(moments[index[i]], value[i], kept);
        later[i] = scaled(value[i], moved + i, divide, most);
        value[i] = scaled(value[i], moments + index[i], divide, most);
    }
}

#undef MOVE
#undef LOOKAHEAD_DOT
#undef SUM
#undef BOTH
#endif
