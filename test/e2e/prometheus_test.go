//go:build e2e

package e2e

import (
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	runnerv1 "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/api/v1alpha1"
	"github.com/h2surge/h2surge/internal/histogram"
	"github.com/h2surge/h2surge/test/prometheus/lab"
)

// What a Prometheus in the cluster would run as. It finds pods and Services, and is bound to the role
// that the operator's installation has for those who scrape it.
const prometheusRights = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: h2surge-e2e-prometheus, labels: {h2surge.io/e2e: "true"}}
rules:
- {apiGroups: [""], resources: [pods, services], verbs: [get, list, watch]}
- {apiGroups: [discovery.k8s.io], resources: [endpointslices], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: h2surge-e2e-prometheus, labels: {h2surge.io/e2e: "true"}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: h2surge-e2e-prometheus}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: %[1]s}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: h2surge-e2e-prometheus-metrics, labels: {h2surge.io/e2e: "true"}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: h2surge-metrics-reader}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: %[1]s}]
`

// scrapes are two servers that discover what there is: one takes classic histograms, one native ones.
type scrapes struct {
	*story
	servers map[string]*lab.Server
}

// TestPrometheus: a real Prometheus finds runners and operator by the API server, as the chart's
// monitors say, and its quantiles are those of status.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	s := newStory(t, "prometheus").withTarget("--latency", "30ms")
	s.wantPodsWithinReach()
	p := s.withPrometheus()
	const name = "scraped"
	applied := time.Now()
	s.apply(s.quickstart(name, 2, hold(500, 20*time.Second), withoutThresholds))
	s.awaitLoad(1, short)
	begun := time.Now()
	p.everywhere(`count(up{job="runners", loadtest="scraped"} == 1) == 2`)
	t.Logf("FIGURE runners are scraped %v after the LoadTest was applied, %v after the first request",
		time.Since(applied).Round(100*time.Millisecond), time.Since(begun).Round(100*time.Millisecond))
	p.wantLabels()

	lt := s.awaitFinished(name)
	s.wantCondition(lt, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, v1alpha1.ReasonCompleted)
	report := s.report(lt)
	s.mustKubectl("", "delete", "loadtest", name)
	p.everywhere(fmt.Sprintf(`timestamp(h2surge_loadtest_verdict{loadtest="scraped", outcome="Passed"}) > %d`, time.Now().Unix()+1))
	p.wantRun(lt, report)
	p.wantKept(lt)
	s.wantNoMetricsForStrangers()
}

// wantPodsWithinReach skips the test where the host is not on the network of the pods: in kind, or on
// somebody's cluster.
func (s *story) wantPodsWithinReach() {
	s.Helper()
	address := s.mustKubectl("", "get", "pods", "-o", "jsonpath={.items[0].status.podIP}")
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(address, "8081"), 3*time.Second)
	if err != nil {
		s.Skipf("SKIPPED: Prometheus runs on this machine, which cannot reach pods of the cluster: %v", err)
	}
	_ = conn.Close()
}

func (s *story) withPrometheus() *scrapes {
	s.Helper()
	s.mustKubectl(fmt.Sprintf(prometheusRights, s.ns), "apply", "-f", "-")
	s.Cleanup(func() {
		_, _ = s.kubectl("", "delete", "clusterroles,clusterrolebindings", "-l", ours+"=true", "--ignore-not-found")
	})
	return &scrapes{story: s, servers: map[string]*lab.Server{
		"classic": lab.Start(s.T, lab.Built, s.scrapeConfig(false)), "native": lab.Start(s.T, lab.Built, s.scrapeConfig(true)),
	}}
}

// scrapeConfig is what the Prometheus operator makes of the chart's monitors.
func (s *story) scrapeConfig(native bool) map[string]any {
	s.Helper()
	api, token := s.apiServer()
	find := func(role string) []any {
		sd := map[string]any{"role": role, "authorization": token}
		for k, v := range api {
			sd[k] = v
		}
		return []any{sd}
	}
	pods, runners := lab.MonitorOf(s.T, "PodMonitor")
	services, operator := lab.MonitorOf(s.T, "ServiceMonitor")
	delete(services, "app.kubernetes.io/instance") // the installation is not Helm's
	return map[string]any{
		"global": map[string]any{"scrape_interval": "1s", "scrape_timeout": "1s", "scrape_native_histograms": native},
		"scrape_configs": []map[string]any{
			{"job_name": "runners", "kubernetes_sd_configs": find("pod"), "relabel_configs": append([]map[string]any{
				{"action": "drop", "source_labels": []string{"__meta_kubernetes_pod_phase"}, "regex": "(Failed|Succeeded)"},
				copied("__meta_kubernetes_namespace", "namespace"),
				copied("__meta_kubernetes_pod_name", "pod"),
				copied("__meta_kubernetes_pod_container_name", "container"),
				kept("__meta_kubernetes_pod_container_port_name", runners.Port),
			}, append(selected("pod", pods), lab.Relabelings(s.T)...)...)},
			{"job_name": "operator", "kubernetes_sd_configs": find("endpointslice"), "relabel_configs": append([]map[string]any{
				kept("__meta_kubernetes_namespace", operatorNamespace),
				copied("__meta_kubernetes_namespace", "namespace"),
				kept("__meta_kubernetes_endpointslice_port_name", operator.Port),
			}, selected("service", services)...),
				"scheme": operator.Scheme, "honor_labels": operator.HonorLabels, "authorization": token,
				"tls_config": map[string]any{"insecure_skip_verify": operator.TLSConfig["insecureSkipVerify"]}},
		},
	}
}

// apiServer is how a Prometheus outside reaches it, and the ServiceAccount's token, as files.
func (s *story) apiServer() (api, token map[string]any) {
	s.Helper()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	s.must(err)
	ca, secret := filepath.Join(s.TempDir(), "ca.crt"), filepath.Join(s.TempDir(), "token")
	authorities := config.CAData
	if config.CAFile != "" {
		authorities, err = os.ReadFile(config.CAFile)
		s.must(err)
	}
	s.must(os.WriteFile(ca, authorities, 0o600))
	s.must(os.WriteFile(secret, []byte(strings.TrimSpace(s.mustKubectl("", "create", "token", "prometheus"))), 0o600))
	return map[string]any{"api_server": config.Host, "tls_config": map[string]any{"ca_file": ca}},
		map[string]any{"type": "Bearer", "credentials_file": secret}
}

var notInNames = regexp.MustCompile(`[^a-zA-Z0-9_]`)

// selected keeps the targets whose pod or Service has these labels.
func selected(kind string, labels map[string]string) (out []map[string]any) {
	for k, v := range labels {
		out = append(out, kept("__meta_kubernetes_"+kind+"_label_"+notInNames.ReplaceAllString(k, "_"), v))
	}
	return out
}

func kept(label, value string) map[string]any {
	return map[string]any{"action": "keep", "source_labels": []string{label}, "regex": regexp.QuoteMeta(value)}
}

func copied(from, to string) map[string]any {
	return map[string]any{"source_labels": []string{from}, "target_label": to}
}

// everywhere waits until a query gives something on each server.
func (p *scrapes) everywhere(query string) {
	p.Helper()
	for kind, server := range p.servers {
		p.eventually(short, func() string {
			if len(server.All(p.T, query)) > 0 {
				return ""
			}
			return fmt.Sprintf("%s: nothing for %s; up is %v", kind, query, server.All(p.T, "up"))
		})
	}
}

// wantLabels: a series is told by namespace, LoadTest and shard; nothing of a pod is in it.
func (p *scrapes) wantLabels() {
	p.Helper()
	for kind, server := range p.servers {
		for _, series := range server.All(p.T, `h2surge_runner_workers{loadtest="scraped"}`) {
			delete(series.Metric, "__name__")
			want := fmt.Sprintf("map[instance:scraped/%s job:runners loadtest:scraped namespace:%s shard:%[1]s]", series.Metric["shard"], p.ns)
			if got := fmt.Sprint(series.Metric); got != want {
				p.Errorf("%s: labels %s, want %s", kind, got, want)
			}
		}
	}
}

// unseen is the part of the run that may have come after the last scrape of its runners: two seconds of
// twenty.
const unseen = 0.1

// wantRun: the runners' last scrapes, which are there when the pods are gone, have the run.
func (p *scrapes) wantRun(lt *v1alpha1.LoadTest, report runnerv1.Report) {
	p.Helper()
	times, err := histogram.Decode(report.Histograms.ResponseTime)
	p.must(err)
	all, told := float64(lt.Status.Results.Requests.Sent), lt.Status.Results.ResponseTime
	for kind, server := range p.servers {
		ended, _ := server.Now(p.T, fmt.Sprintf(`sum(last_over_time(h2surge_runner_requests_total{namespace=%q}[2m]))`, p.ns))
		if ended > all || ended < (1-unseen)*all {
			p.Errorf("%s: the last scrapes have %v requests of %v", kind, ended, all)
		}
		for q, us := range map[float64]*int64{0.5: told.P50Microseconds, 0.9: told.P90Microseconds, 0.99: told.P99Microseconds} {
			us := *us
			got := p.quantile(server, kind, q)
			// As many as were not seen, and one, may be on either side of the quantile.
			missed := 1 - (ended-1)/all
			least, most := times.Quantile(q*(1-missed)), times.Quantile(q*(1-missed)+missed)
			p.Logf("FIGURE %s quantile %v: status %d us, Prometheus %.0f us, which has seen %.0f of %.0f requests", kind, q, us, got*1e6, ended, all)
			if us < least || us > most || !lab.AgreeBetween(kind == "native", got, float64(least)/1e6, float64(most)/1e6) {
				p.Errorf("%s: quantile %v is %v s, status has %d us; want them in the bucket of %d to %d us", kind, q, got, us, least, most)
			}
		}
	}
}

// quantile is Prometheus's over the run, in seconds.
func (p *scrapes) quantile(server *lab.Server, kind string, q float64) float64 {
	p.Helper()
	by, metric := "", "h2surge_runner_response_time_seconds"
	if kind == "classic" {
		by, metric = "by (le) ", metric+"_bucket"
	}
	query := fmt.Sprintf(`histogram_quantile(%v, sum %s(last_over_time(%s{namespace=%q, loadtest="scraped"}[2m])))`, q, by, metric, p.ns)
	got, ok := server.Now(p.T, query)
	if !ok {
		p.Errorf("%s: nothing for %s", kind, query)
	}
	return got
}

// wantKept: what the operator tells of a run that has ended, and was deleted even, is what status had.
func (p *scrapes) wantKept(lt *v1alpha1.LoadTest) {
	p.Helper()
	r := lt.Status.Results
	for kind, server := range p.servers {
		for metric, want := range map[string]float64{
			`h2surge_loadtest_verdict{outcome="Passed", %s}`:             1,
			`h2surge_loadtest_requests_sent_total{%s}`:                   float64(r.Requests.Sent),
			`h2surge_loadtest_response_time_seconds{percentile="99",%s}`: float64(*r.ResponseTime.P99Microseconds) / 1e6,
			`h2surge_loadtest_duration_seconds{%s}`:                      lt.Status.CompletionTime.Sub(lt.Status.StartTime.Time).Seconds(),
		} {
			query := fmt.Sprintf(metric, fmt.Sprintf("namespace=%q,loadtest=%q", p.ns, lt.Name))
			slack := 1e-9
			if strings.Contains(metric, "duration") {
				slack = 1.5 / want // times in status are whole seconds
			}
			if got, ok := server.Now(p.T, query); !ok || math.Abs(got-want) > slack*want {
				p.Errorf("%s: %s is %v, status has %v", kind, query, got, want)
			}
		}
		if up, _ := server.Now(p.T, `sum(up{job="operator"})`); up != 1 {
			p.Errorf("%s: %v operators are scraped, want 1", kind, up)
		}
	}
}

// wantNoMetricsForStrangers: without a token the operator's metrics are nobody's.
func (s *story) wantNoMetricsForStrangers() {
	s.Helper()
	pods, err := core.CoreV1().Pods(operatorNamespace).List(s.ctx, metav1.ListOptions{LabelSelector: operatorSelector})
	s.must(err)
	c := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // whose certificate it is, is not the question
	for _, pod := range pods.Items {
		r, err := c.Get("https://" + net.JoinHostPort(pod.Status.PodIP, "8443") + "/metrics")
		s.must(err)
		_ = r.Body.Close()
		if r.StatusCode != http.StatusUnauthorized && r.StatusCode != http.StatusForbidden {
			s.Errorf("metrics without a token: status %d, want 401 or 403", r.StatusCode)
		}
	}
}
