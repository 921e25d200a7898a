/* Weights with a soft threshold, and steps along many of them at once.

   A processor with AVX2 takes four roots or quotients in the time of one, and they take most of the time of a step. */

#ifndef RIVER_MARGINS_SPARSE_STEPS_H
#define RIVER_MARGINS_SPARSE_STEPS_H

#include <float.h>

#include "river_margins/core/kernels.h"

typedef struct {
    double pull;    /* the sum of the steps, without the thresholds subtracted so far */
    double settled; /* the sum of thresholds that `pull` takes into account; in `CoinBetting` the largest |value| so far */
    double squares; /* the sum of the squares of the steps */
    double rate;    /* the weight is the soft-thresholded `pull` times the rate; in `CoinBetting` the wealth */
} Coordinate;

/* `pull`, nearer to 0 by the thresholds that are due, or exactly 0 if these are larger. */
static inline double soft_threshold(const Coordinate *at, double threshold)
{
    /* Without a branch for the sign, which no processor can predict. */
    double left = fabs(at->pull) - (threshold - at->settled);
    return left > 0.0 ? copysign(left, at->pull) : 0.0;
}

static inline int is_finite(const Coordinate *at) { return (fabs(at->pull * at->rate) <= DBL_MAX) & (at->squares <= DBL_MAX); }

/* The rates of `DualAveraging` and `ProximalLeader`, from the root of the sum of the squared steps. */
static inline double dual_rate(double root, double lr, double delta) { return lr / (delta + root); }

static inline double proximal_rate(double root, double alpha, double beta, double l2)
{
    double inverse = (beta + root) / alpha + l2;
    return unless(!(inverse > 0.0), 1.0 / inverse);
}

/* Steps of length along·value[i], before the threshold of this round. Return whether all numbers are finite. */
ALSO_WITH_AVX2
static int average_duals(Coordinate *__restrict at, const double *__restrict value, double along, ptrdiff_t length, double lr,
                         double delta)
{
    int64_t infinite = 0;
    for (ptrdiff_t i = 0; i < length; i++) {
        double step = along * value[i];
        at[i].pull += step;
        at[i].squares += step * step;
        at[i].rate = dual_rate(sqrt(at[i].squares), lr, delta);
        infinite += !is_finite(at + i);
    }
    return !infinite;
}

ALSO_WITH_AVX2
static int follow_leader(Coordinate *__restrict at, const double *__restrict value, double along, ptrdiff_t length,
                         double threshold, double alpha, double beta, double l2)
{
    int64_t infinite = 0;
    for (ptrdiff_t i = 0; i < length; i++) {
        double step = along * value[i], weight = soft_threshold(at + i, threshold) * at[i].rate;
        double before = sqrt(at[i].squares), after;
        at[i].squares += step * step;
        after = sqrt(at[i].squares);
        at[i].pull += step + (after - before) / alpha * weight;
        at[i].rate = proximal_rate(after, alpha, beta, l2);
        infinite += !is_finite(at + i);
    }
    return !infinite;
}

#endif
