//go:build skew

package skew

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
	"github.com/h2surge/h2surge/test/peer"
	"github.com/h2surge/h2surge/test/world"
)

const namespace = "skew"

// anyUser is the row in which operator and runners have a random user and group, as under OpenShift's restricted-v2.
const anyUser = "any user"

// TestSkew: an operator and runners of different builds run a test together, and every request counts. A row that needs what the previous
// build lacks wants VersionMismatch: then the test ends before the start and says why.
func TestSkew(t *testing.T) {
	dir := os.Getenv("SKEW_DIR")
	if dir == "" {
		t.Fatal("SKEW_DIR is not set: run hack/skew.sh")
	}
	ctrl.SetLogger(logr.Discard())
	for _, tt := range []struct {
		name, operator, runner string
		onShardLost            v1alpha1.ShardLostAction
		idle                   v1alpha1.IdleStrategy
		want                   string // reason of Finished
	}{
		{"previous runner", "new", "old", v1alpha1.ShardLostFail, "", v1alpha1.ReasonCompleted},
		{"previous runner, Rebalance", "new", "old", v1alpha1.ShardLostRebalance, "", v1alpha1.ReasonCompleted},
		{"previous runner, Spin", "new", "old", v1alpha1.ShardLostFail, v1alpha1.IdleStrategySpin, v1alpha1.ReasonCompleted},
		{"previous operator", "old", "new", v1alpha1.ShardLostFail, "", v1alpha1.ReasonCompleted},
		{"previous operator, Rebalance", "old", "new", v1alpha1.ShardLostRebalance, "", v1alpha1.ReasonCompleted},
		{anyUser, "new", "new", v1alpha1.ShardLostFail, "", v1alpha1.ReasonCompleted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			served, url := target(t)
			w := world.New(t, namespace, world.Programs{
				Operator: filepath.Join(dir, tt.operator, "manager"), CRDs: filepath.Join(dir, tt.operator, "crd"),
				Runner: filepath.Join(dir, tt.runner, "runner"), AnyUser: tt.name == anyUser,
			})
			lt := builder.Minimal("mixed").Namespace(namespace).TargetURL(url).Shards(2).Connections(2).
				Rates(builder.PerSecond("steady", 100, 3*time.Second)).
				Edit(func(s *v1alpha1.LoadTestSpec) {
					s.Targets[0].Protocol = v1alpha1.ProtocolH2C // a runner before version 8 cannot ask the server
					s.Runner.OnShardLost, s.Runner.IdleStrategy = tt.onShardLost, tt.idle
				}).Build()
			w.Must(w.Client.Create(t.Context(), lt))
			w.Await("the end of the test", func() error {
				w.Kubelet()
				w.Must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(lt), lt))
				if c := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionFinished); c == nil || c.Status != metav1.ConditionTrue {
					return fmt.Errorf("phase %s: %+v", lt.Status.Phase, lt.Status.Conditions)
				}
				return nil
			})
			finished := meta.FindStatusCondition(lt.Status.Conditions, v1alpha1.ConditionFinished)
			t.Logf("%s: %s; the target got %d requests", finished.Reason, finished.Message, served.Load())
			if finished.Reason != tt.want {
				t.Errorf("the test ended with reason %s, want %s", finished.Reason, tt.want)
			}
			want := int64(300)
			if tt.want == v1alpha1.ReasonVersionMismatch {
				want = 0
				if !strings.Contains(finished.Message, "protocol version") {
					t.Errorf("message %q", finished.Message)
				}
			}
			sent := int64(0)
			if r := lt.Status.Results; r != nil {
				sent = r.Requests.Sent
			}
			if served.Load() != want || sent != want {
				t.Errorf("the target got %d requests, status has %d, want %d", served.Load(), sent, want)
			}
		})
	}
}

// target is an HTTP/2 server that counts requests.
func target(t *testing.T) (*atomic.Int64, string) {
	t.Helper()
	served := &atomic.Int64{}
	return served, "http://" + peer.Serve(t, true, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
}
