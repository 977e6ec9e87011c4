package loadtest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "github.com/h2surge/h2surge/api/config/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/test/builder"
)

// TestStopWithoutAnAnswer: spec.stop ends a test although no runner answers. A runner that answers later is stopped and released.
func TestStopWithoutAnAnswer(t *testing.T) {
	for shards, policies := range map[int][]v1alpha1.ShardLostAction{1: {v1alpha1.ShardLostFail}, 2: {v1alpha1.ShardLostFail, v1alpha1.ShardLostContinue}} {
		for _, policy := range policies {
			t.Run(fmt.Sprint(policy, shards), func(t *testing.T) {
				w := newWorldWith(t, func(cfg *configv1alpha1.OperatorConfig) { cfg.Runner.UnreachableTimeout.Duration = 10 * time.Second })
				w.apply(builder.Minimal("mute").Shards(int32(shards)).Connections(int32(shards)).Rates(builder.PerSecond("hold", 1000, load)).
					Edit(func(s *v1alpha1.LoadTestSpec) { s.Runner.OnShardLost = policy }).Build())
				w.awaitLoad("mute", 200)
				for i := range shards {
					w.runner(fmt.Sprint("mute-1-", i)).Silence()
				}
				w.edit("mute", func(s *v1alpha1.LoadTestSpec) { s.Stop = true })
				lt := w.await("mute", "finished", func(lt *v1alpha1.LoadTest) bool { return lt.Status.CompletionTime != nil })
				w.wantCondition(lt, v1alpha1.ConditionFinished, metav1.ConditionTrue, v1alpha1.ReasonRunnerLost)
				if text := conditionsOf(lt); !strings.Contains(text, "it may send requests until") {
					t.Errorf("no condition says how long the runners may send:\n%s", text)
				}
				if !lt.Status.Results.Partial || lt.Status.Results.Requests.Sent < 200 {
					t.Errorf("partial %v, sent %d; want the counts until the silence", lt.Status.Results.Partial, lt.Status.Results.Requests.Sent)
				}
				w.runner("mute-1-0").Wake()
				w.Eventually(func() bool { return w.runner("mute-1-0").Stopped() != nil && w.runner("mute-1-0").Acked() }).Should(gomega.BeTrue())
			})
		}
	}
}
