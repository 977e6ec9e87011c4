package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/test/markdown"
)

// TestSamplesAsOfFree5GC: samples pass against rules that differ from 3GPP as docs/5g says of free5GC, after the change that the page
// names.
func TestSamplesAsOfFree5GC(t *testing.T) {
	waits(t)
	for sample, s := range map[string]struct {
		rules   string
		urls    []string // of targets, before the address
		without []string // steps
		change  []string // pairs
	}{
		"amf-event-subscription": {rules: "amf", urls: []string{""}, change: []string{
			"{name: subscription, header: location}", "{name: subscription, jsonPointer: /subscriptionId}",
			"path: ${subscription}", "path: /namf-evts/v1/subscriptions/${subscription}",
			"              checks:\n                - {name: location, header: location, contains: /namf-evts/v1/subscriptions/}\n", "",
		}},
		"ausf-authentication": {rules: "ausf", urls: []string{""}, without: []string{"remove"}},
		"nrf-registration":    {rules: "nrf", urls: []string{""}},
		"pcf-events": {rules: "pcf", urls: []string{""}, change: []string{
			"        - name: create-policy\n", `        - name: create-am-policy
          request:
            operation: Npcf_AMPolicyControl_Create
            extends: npcf
            path: /npcf-am-policy-control/v1/policies
            body: |
              {"supi": "${ue.supi}", "notificationUri": "${listener.callbacks.url}/amf/${ue.supi}", "suppFeat": "0",
               "servingPlmn": {"mcc": "001", "mnc": "01"}, "accessType": "3GPP_ACCESS", "ratType": "NR"}
            expect: {status: [201]}
        - name: create-policy
`,
		}},
		"smf-pdu-session": {rules: "smf", urls: []string{"smf=", "nrf="}, without: []string{"subscribe", "established", "unsubscribe"}, change: []string{
			"{name: context, header: location}", `{name: context, header: location, regex: "[^/]+$"}`,
			"path: ${context}/modify", "path: /nsmf-pdusession/v1/sm-contexts/${context}/modify",
			"              checks:\n                - {name: location, header: location, matches: \"/nsmf-pdusession/v1/sm-contexts/[^/]+$\"}\n", "",
		}},
		"udm-data-change": {rules: "udm", urls: []string{"udm=", "udr="}, without: []string{"udm-notifies"}, change: []string{
			"{name: atUDM, header: location}", "{name: atUDM, jsonPointer: /subscriptionId}",
			`path: "${atUDM}"`, `path: "/nudm-sdm/v2/imsi-00101${msin}/sdm-subscriptions/${atUDM}"`,
		}},
	} {
		t.Run(sample, func(t *testing.T) {
			waits(t)
			const dir = "../../config/samples"
			set, err := rules.LoadFile(filepath.Join(dir, "targets/free5gc", s.rules+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(filepath.Join(dir, sample+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			text := string(raw)
			for i := 0; i < len(s.change); i += 2 {
				if !strings.Contains(text, s.change[i]) {
					t.Fatalf("the sample does not have %q", s.change[i])
				}
				text = strings.ReplaceAll(text, s.change[i], s.change[i+1])
			}
			for _, step := range s.without {
				text = withoutStep(t, text, step)
			}
			peer := serve(t, mock.Options{Rules: set, Seed: 1})
			var args []string
			for _, name := range s.urls {
				args = append(args, "--target-url", name+"http://"+peer.Addr().String())
			}
			r := runLess(t, markdown.Block{File: sample, Text: text}, nil, "", args...)
			sent := uint64(r.WarmUp.Sent + r.Requests.Sent + r.Graceful.Sent)
			if st := peer.Stats(); st.Requests != sent || st.Unmatched != 0 {
				t.Errorf("the target counted %d requests, %d of them without a rule; the report has %d", st.Requests, st.Unmatched, sent)
			}
		})
	}
}

// withoutStep removes a step of a sample.
func withoutStep(t *testing.T, text, step string) string {
	t.Helper()
	at := regexp.MustCompile(`(?m)^        - name: ` + step + `\n(          .*\n|              ?.*\n)*`).FindStringIndex(text)
	if at == nil {
		t.Fatalf("the sample has no step %s", step)
	}
	return text[:at[0]] + text[at[1]:]
}
