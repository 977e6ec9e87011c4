package decide

import (
	"github.com/h2surge/h2surge/controllers/internal/run"
)

// Running returns what follows from the record of a test that runs, after the collector has it.
func Running(f *run.Facts) (out []Operation) {
	out = append(out, DeleteFormer(f)...)
	out = append(out, fence(f)...)
	out = append(out, scale(f)...)
	return append(out, budget(f)...)
}
