package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/h2surge/h2surge/internal/report/verdict"
	"github.com/h2surge/h2surge/test/harness"
)

var exported = cmp.AllowUnexported(measured{}, times{}, perOp{}, spread{})

// TestParse: the outputs are those of real runs.
func TestParse(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	for _, tc := range []struct {
		file   string
		client client
		want   measured
	}{
		{"h2load-h2c.txt", h2load{}, measured{
			requests: 38600, perSecond: 38600, times: times{mean: 24340 * us, max: 90970 * us},
		}},
		{"h2load-tls.txt", h2load{}, measured{
			requests: 33300, perSecond: 33300, times: times{mean: 25540 * us, max: 112150 * us},
			suite: "TLS 1.3 TLS_AES_256_GCM_SHA384",
		}},
		{"h2load-404.txt", h2load{}, measured{
			requests: 18689, rejected: 18689, perSecond: 18689, times: times{mean: 51540 * us, max: 152450 * us},
		}},
		{"wrk.txt", wrk{}, measured{
			requests: 10103, perSecond: 9298.92,
			times: times{mean: 11340 * us, p50: 8240 * us, p99: 64110 * us, max: 75210 * us},
		}},
		{"wrk-404.txt", wrk{}, measured{
			requests: 12307, rejected: 12307, perSecond: 12183.04,
			times: times{mean: 14240 * us, p50: 5830 * us, p99: 135250 * us, max: 143630 * us},
		}},
		{"ab.txt", ab{}, measured{
			requests: 3000, perSecond: 2825.20, connections: 3000,
			times: times{mean: 34 * ms, p50: 31 * ms, p99: 103 * ms, max: 104 * ms, connect: 10 * ms, waiting: 18 * ms},
		}},
		{"ab-keep.txt", ab{}, measured{
			requests: 23885, rejected: 23885, perSecond: 23861.04,
			times: times{mean: 4 * ms, p50: 2 * ms, p99: 20 * ms, max: 45 * ms, waiting: 4 * ms},
		}},
		{"h2surge.json", h2surge{}, measured{
			requests: 157496, perSecond: 157496, connections: 4,
			times: times{mean: 205 * us, p50: 24 * us, p99: 4783 * us, max: 96450 * us, connect: 58 * us, waiting: 205 * us},
		}},
		{"ghz.txt", ghz{}, measured{
			requests: 997, perSecond: 996.35, times: times{mean: 430 * us, p50: 270 * us, p99: 5280 * us, max: 6850 * us},
		}},
		{"floor.txt", floor{}, measured{requests: 116398, unanswered: 3602, rejected: 3602 + 7988, perSecond: 58199}},
		{"floor-tls.txt", floor{}, measured{requests: 95600, perSecond: 47800, suite: "TLS 1.3 TLS_AES_256_GCM_SHA384"}},
	} {
		t.Run(tc.file, func(t *testing.T) {
			got, err := tc.client.parse(harness.Finished{Stdout: read(t, tc.file)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, exported); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestParseRefuses: a line that is missing or a failed run is an error, never a zero.
func TestParseRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		client client
		f      harness.Finished
		want   string
	}{
		{"h2load failed", h2load{}, harness.Finished{Code: 1, Stderr: "a\nno such host\n"}, "exit code 1: no such host"},
		{"h2load cut", h2load{}, harness.Finished{Stdout: strings.Split(read(t, "h2load-h2c.txt"), "status codes")[0]}, "time for request"},
		{"wrk failed", wrk{}, harness.Finished{Code: 1, Stderr: "unable to connect"}, "unable to connect"},
		{"wrk cut", wrk{}, harness.Finished{Stdout: strings.Split(read(t, "wrk.txt"), "Requests/sec")[0]}, "Requests/sec"},
		{"ab failed", ab{}, harness.Finished{Code: 104, Stderr: "apr_socket_recv: Connection reset by peer (104)\n"}, "reset by peer"},
		{"ghz without a success", ghz{}, harness.Finished{Stdout: strings.ReplaceAll(read(t, "ghz.txt"), "[OK]", "[NotFound]")}, "[OK"},
		{"ab empty", ab{}, harness.Finished{}, "Complete requests"},
		{"h2surge refuses a flag", h2surge{}, harness.Finished{Code: 1, Stderr: "--x: unknown flag\n"}, "exit code 1: --x: unknown flag"},
		{"h2surge without target", h2surge{}, harness.Finished{Code: 5, Stderr: "cannot connect"}, "exit code 5: cannot connect"},
		{"h2surge in vain", h2surge{}, harness.Finished{Code: 5, Stdout: `{"verdict":{"message":"not one request succeeded"}}`}, "exit code 5: not one request"},
		{"h2surge without report", h2surge{}, harness.Finished{}, "its report"},
		{"floor failed", floor{}, harness.Finished{Code: 1, Stderr: "floor: GOAWAY with error 11\n"}, "GOAWAY with error 11"},
		{"floor cut", floor{}, harness.Finished{Stdout: "requests 5 failed 0 unanswered 0 seconds 2.0"}, "seconds"},
		{"client of Go", goClient{}, harness.Finished{Code: 1, Stderr: "perf: too many open files"}, "too many open files"},
		{"client of Go in no time", goClient{}, harness.Finished{Stdout: "{}"}, "no time"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tc.client.parse(tc.f)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestInconclusive(t *testing.T) {
	m, err := h2surge{}.parse(harness.Finished{Code: verdict.ExitInconclusive, Stdout: `{"requests":{"sent":2,"done":1,"succeeded":1},"verdict":{"message":"late"}}`})
	if err != nil || m.remark != "inconclusive: late" || m.rejected != 1 {
		t.Errorf("remark %q, rejected %d, error %v", m.remark, m.rejected, err)
	}
}

// TestParseCut: of an output that ends anywhere there is an error, or the figures of the whole.
func TestParseCut(t *testing.T) {
	for file, c := range map[string]client{"h2load-tls.txt": h2load{}, "wrk.txt": wrk{}, "ab.txt": ab{}, "ghz.txt": ghz{}, "h2surge.json": h2surge{}, "floor.txt": floor{}} {
		text := read(t, file)
		whole, err := c.parse(harness.Finished{Stdout: text})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, len(text) / 4, len(text) / 2, len(text) * 3 / 4, len(text) - 2} {
			got, err := c.parse(harness.Finished{Stdout: text[:n]})
			if err == nil && got != whole || err != nil && got != (measured{}) {
				t.Errorf("%s cut after %d bytes: %+v, %v", file, n, got, err)
			}
		}
	}
}
