package usl

import "math"

// Point is a load with the rate that the target achieved at it.
type Point struct {
	// Concurrency is the mean number of requests in flight, and Rate that of successful responses per second.
	Concurrency, Rate float64
}

// model has the coefficients in a form that is linear in them:
//
//	N / X(N) = a + b*(N-1) + c*N*(N-1)
//
// The rate of one request in flight is 1/a, contention is b/a and coherency c/a.
type model [3]float64

// terms are the factors of the coefficients at a concurrency.
func terms(n float64) [3]float64 { return [3]float64{1, n - 1, n * (n - 1)} }

// rate returns X(N).
func (m model) rate(n float64) float64 {
	t := terms(n)
	return n / (m[0]*t[0] + m[1]*t[1] + m[2]*t[2])
}

// peak returns the concurrency at which the rate is highest.
func (m model) peak() float64 { return math.Sqrt((m[0] - m[1]) / m[2]) }

// squares returns the sum of the squared errors of rates. It is infinite for coefficients without a meaning.
func (m model) squares(points []Point) (sum float64) {
	for _, p := range points {
		x := m.rate(p.Concurrency)
		if !(x > 0) || math.IsInf(x, 0) {
			return math.Inf(1)
		}
		sum += (p.Rate - x) * (p.Rate - x)
	}
	return sum
}

// fitted is the model with the least squares, and the covariance of its coefficients.
type fitted struct {
	model
	sum        float64
	covariance [3][3]float64
	// free is the number of points minus the number of coefficients that are not fixed at 0.
	free int
}

// fit returns the model with the least squares whose contention and coherency are not negative. A coefficient that
// would be negative is fixed at 0.
func fit(points []Point) (best fitted) {
	best.sum = math.Inf(1)
	for _, use := range [][]int{{0, 1, 2}, {0, 2}, {0, 1}, {0}} {
		if f := gaussNewton(points, use); f.model[0] > 0 && f.model[1] >= 0 && f.model[2] >= 0 && f.sum < best.sum {
			best = f
		}
	}
	return best
}

// rounds is the maximum number of steps of gaussNewton. Most fits need less than 10.
const rounds = 100

// gaussNewton fits the coefficients with these indices; the others are 0. It begins with the linear fit of N/X, and
// halves a step that would make the errors greater.
func gaussNewton(points []Point, use []int) fitted {
	var m model
	f := fitted{free: len(points) - len(use)}
	for round := range rounds {
		step, inverse := solve(points, use, m, round == 0)
		f.sum = m.squares(points)
		for _, i := range use {
			for _, k := range use {
				f.covariance[i][k] = inverse[i][k] * f.sum / float64(max(1, f.free))
			}
		}
		next, size := m, 1.0
		for ; size > 1e-6; size /= 2 {
			for i := range m {
				next[i] = m[i] + size*step[i]
			}
			if round == 0 || next.squares(points) < f.sum {
				break
			}
		}
		if round > 0 && !(next.squares(points) < f.sum*(1-1e-12)) {
			break
		}
		m = next
	}
	f.model, f.sum = m, m.squares(points)
	return f
}

// solve returns the step of the coefficients that makes the linearized errors least, and the inverse of the normal
// matrix. If first is true, the errors are those of N/X, with the weight that they have in X.
func solve(points []Point, use []int, m model, first bool) (step [3]float64, inverse [3][3]float64) {
	var a [3][3]float64
	var b, scale [3]float64
	for _, p := range points {
		x, rest := p.Rate, p.Concurrency/p.Rate
		if !first {
			x = m.rate(p.Concurrency)
			rest = (x - p.Rate) * p.Concurrency / (x * x)
		}
		weight := x * x / p.Concurrency
		t := terms(p.Concurrency)
		for _, i := range use {
			for _, k := range use {
				a[i][k] += weight * t[i] * weight * t[k]
			}
			b[i] += weight * t[i] * weight * rest
		}
	}
	for i := range a {
		if scale[i] = math.Sqrt(a[i][i]); scale[i] == 0 {
			a[i][i], scale[i] = 1, 1 // not used
		}
	}
	for i := range a { // each diagonal element becomes 1, so that the terms' sizes do not matter
		for k := range a {
			a[i][k] /= scale[i] * scale[k]
		}
	}
	inverse = invert(a)
	for i := range a {
		for k := range a {
			inverse[i][k] /= scale[i] * scale[k]
			step[i] += inverse[i][k] * b[k]
		}
	}
	return step, inverse
}

// invert returns the inverse of a symmetric matrix, by its cofactors.
func invert(a [3][3]float64) (out [3][3]float64) {
	cofactor := func(i, k int) float64 {
		r, s, u, v := (i+1)%3, (i+2)%3, (k+1)%3, (k+2)%3
		return a[r][u]*a[s][v] - a[r][v]*a[s][u]
	}
	determinant := a[0][0]*cofactor(0, 0) + a[0][1]*cofactor(0, 1) + a[0][2]*cofactor(0, 2)
	for i := range a {
		for k := range a {
			out[i][k] = cofactor(k, i) / determinant
		}
	}
	return out
}

// deviation returns the standard deviation of a function of the coefficients, to first order.
func (f *fitted) deviation(of func(model) float64) float64 {
	var gradient [3]float64
	for i := range gradient {
		h := 1e-4 * math.Sqrt(f.covariance[i][i])
		if h == 0 {
			continue
		}
		up, down := f.model, f.model
		up[i], down[i] = up[i]+h, down[i]-h
		gradient[i] = (of(up) - of(down)) / (2 * h)
	}
	variance := 0.0
	for i := range gradient {
		for k := range gradient {
			variance += gradient[i] * f.covariance[i][k] * gradient[k]
		}
	}
	return math.Sqrt(max(0, variance))
}

// student are the 97.5 % quantiles of Student's t distribution with 1 to 10 degrees of freedom.
var student = []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228}

// quantile returns the 97.5 % quantile of Student's t distribution; above 10 degrees it is at most 0.4 % off.
func quantile(free int) float64 {
	if free <= len(student) {
		return student[max(1, free)-1]
	}
	return 1.96 + 2.65/float64(free)
}
