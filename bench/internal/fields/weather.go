package fields

import "math"

// weather is a sequence of smooth random fields on one grid, periodic in time and
// longitude. Like real weather, it consists of octaves of noise, each half as long as
// the last and weaker. Products are converted explicitly to prevent fused multiply-add,
// so that the fields are the same on every processor.
type weather struct {
	nx, ny int
	frames [][]float32 // mean 0, of the order of 1
}

const (
	weatherFrames = 16
	// frameRecords is the number of records from one frame to the next.
	frameRecords = 3
)

func newWeather(nx, ny int, seed uint64) *weather {
	w := &weather{nx: nx, ny: ny, frames: make([][]float32, weatherFrames)}
	for i := range w.frames {
		w.frames[i] = noiseField(nx, ny, seed+uint64(i)*0x9e37)
	}
	return w
}

// noiseField adds up octaves of value noise: random numbers on a coarse lattice,
// interpolated in between.
func noiseField(nx, ny int, seed uint64) []float32 {
	f := make([]float32, nx*ny)
	amp := 1.0
	for cells := 4; cells <= nx/2; cells *= 2 {
		rows := max(2, cells*ny/nx)
		for y := range ny {
			v := float64(y) * float64(rows) / float64(ny)
			y0 := int(v)
			wy := smooth(v - float64(y0))
			for x := range nx {
				u := float64(x) * float64(cells) / float64(nx)
				x0 := int(u)
				wx := smooth(u - float64(x0))
				x1 := (x0 + 1) % cells
				top := lerp(lattice(seed, cells, x0, y0), lattice(seed, cells, x1, y0), wx)
				bottom := lerp(lattice(seed, cells, x0, y0+1), lattice(seed, cells, x1, y0+1), wx)
				f[y*nx+x] += float32(amp * lerp(top, bottom, wy))
			}
		}
		amp *= 0.4
	}
	return f
}

func smooth(t float64) float64 { return float64(t*t) * float64(3-float64(2*t)) }

func lerp(a, b, w float64) float64 { return a + float64((b-a)*w) }

// lattice returns a random number in [-1, 1) for a place.
func lattice(seed uint64, cells, x, y int) float64 {
	return 2*unit(seed^uint64(cells)<<48^uint64(x)<<24^uint64(y)) - 1
}

// unit returns a random number in [0, 1) that depends on n (splitmix64).
func unit(n uint64) float64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return float64((n^n>>31)>>11) / (1 << 53)
}

// at writes the weather of a record to dst: interpolated between two frames and
// drifting east.
func (w *weather) at(dst []float32, rec int) {
	i := rec / frameRecords
	t := float64(rec%frameRecords) / frameRecords
	a, b := w.frames[i%len(w.frames)], w.frames[(i+1)%len(w.frames)]
	// Every cycle through the frames has another strength and place.
	round := uint64(i / len(w.frames))
	strength := 0.7 + float64(0.6*unit(round))
	wb := float32(strength * smooth(t))
	wa := float32(strength) - wb
	shift := (rec + int(float64(w.nx)*unit(round+1<<32))) % w.nx
	for y := range w.ny {
		out, ra, rb := dst[y*w.nx:][:w.nx], a[y*w.nx:][:w.nx], b[y*w.nx:][:w.nx]
		for x := range out {
			from := x - shift
			if from < 0 {
				from += w.nx
			}
			out[x] = float32(wa*ra[from]) + float32(wb*rb[from])
		}
	}
}

// deviation returns the standard deviation of the unmasked values.
func deviation(v []float32, masked func(float32) bool) float64 {
	var n, sum, squares float64
	for _, x := range v {
		if !masked(x) {
			n++
			sum += float64(x)
			squares += float64(float64(x) * float64(x))
		}
	}
	if n == 0 {
		return 0
	}
	mean := sum / n
	return math.Sqrt(max(0, squares/n-float64(mean*mean)))
}
