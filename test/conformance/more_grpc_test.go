//go:build conformance && more

package conformance

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestMoreCallServers: servers in other languages count as those of TestCallServers do.
func TestMoreCallServers(t *testing.T) {
	runCallServers(t, []startableServer{
		{"tonic", func(t *testing.T, age time.Duration) callServer {
			s := startMore(t, age, "../../bin/rust/release/tonic-echo")
			s.otherCodes = map[string]string{
				"a request above the limit of the server": "OUT_OF_RANGE",
				"a deadline that the server keeps":        "CANCELLED",
			}
			return s
		}},
		{"grpc-java", func(t *testing.T, age time.Duration) callServer {
			const dir = "../../bin/grpc-java/"
			return startMore(t, age, "java", "-cp", dir+"classes:"+dir+"lib/*", "Echo")
		}},
	})
}

// startMore runs a program that "make conformance-more" builds. Its last arguments are the port and the age of
// connections in ms.
func startMore(t *testing.T, age time.Duration, program string, args ...string) callServer {
	t.Helper()
	s := newSite(t, time.Now().Add(time.Hour))
	args = append(args, fmt.Sprint(s.ports[0]), fmt.Sprint(age.Milliseconds()))
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "JAVA_TOOL_OPTIONS=-XX:+UseSerialGC -Xmx256m")
	s.run(t, program, cmd)
	s.await(t, s.ports[0])
	return callServer{address: fmt.Sprintf("127.0.0.1:%d", s.ports[0])}
}
