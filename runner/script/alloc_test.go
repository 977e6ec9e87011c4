//go:build !race

package script

import "testing"

// TestAllocations: what a call allocates is the texts that a script reads for the first time and makes.
func TestAllocations(t *testing.T) {
	for _, tc := range []struct {
		name, source string
		most         float64
	}{
		// The key of each member that is read is boxed by the interpreter.
		{"native, nothing read", `function on_request() end function on_response() end`, 0},
		{"native, status and header", `function on_request() end
			function on_response(res) return res.status == 201 and res:header("content-type") == "application/json" end`, 3},
		// Three header tables, which are new so that kept ones are noticed.
		{"compatible, nothing read", `function make_request(rh, rp, h, p) return h, p end function validate_response() return true end`, 3},
		{"compatible", compatSource, 12},
	} {
		h := benchHost(t, tc.source)
		req, res, template := benchRequest(), benchResponse(), benchRequest()
		got := testing.AllocsPerRun(1000, func() {
			*req = *template
			if err := h.Request(0, template, res, req, nil); err != nil {
				t.Fatal(err)
			}
			if ok, err := h.Response(0, req, res, nil); !ok || err != nil {
				t.Fatal(ok, err)
			}
		})
		if got > tc.most {
			t.Errorf("%s: %v allocations, want at most %v", tc.name, got, tc.most)
		}
	}
}
