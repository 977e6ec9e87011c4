package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	rv "github.com/h2surge/h2surge/api/runner/v1alpha1"
	"github.com/h2surge/h2surge/internal/mock"
	"github.com/h2surge/h2surge/internal/mock/rules"
	"github.com/h2surge/h2surge/runner/fiveg/fivegtest"
)

// eapTest is EAP-AKA' of subscribers with the keys of test set 1 of TS 35.207.
const eapTest = `apiVersion: h2surge.io/v1alpha1
kind: LoadTest
metadata: {name: eap}
spec:
  targets: [{name: ausf, url: "http://ausf.example"}]
  variables:
    - name: ue
      subscribers:
        count: 3
        aka: {k: {value: "465b5ce8b199b49faa5f0a2ee238a6bc"}, opc: {value: "cd63cb71954a9f4e48a5994e37a02baf"}}
      atEnd: Stop
  chains:
    - name: eap
      target: ausf
      steps:
        - name: authenticate
          request:
            method: POST
            path: /nausf-auth/v1/ue-authentications
            headers: [{name: content-type, value: application/json}]
            body: '{"supiOrSuci":"${ue.supi}","servingNetworkName":"${ue.servingNetwork}"}'
            expect: {status: [201], usim: ue}
            capture: [{name: authentication, header: location}]
        - name: respond
          request:
            method: POST
            path: ${authentication}/eap-session
            headers: [{name: content-type, value: application/json}]
            body: '{"eapPayload":"${ue.eapPayload}"}'
            expect:
              status: [200]
              checks:
                - {name: authenticated, jsonPointer: /authResult, equals: AUTHENTICATION_SUCCESS}
                - {name: key, jsonPointer: /kSeaf, equals: "${ue.kseaf}"}
  runner: {cpusPerShard: 1}
  rates: [{name: all, requestsPerSecond: 50, duration: 1s}]
`

// eapRules are an AUSF that accepts only the responses to its own challenges.
func eapRules(h *fivegtest.Home, imsis ...string) string {
	text := "apiVersion: h2surge.io/v1alpha1\nkind: Target\nrules:\n"
	for _, imsi := range imsis {
		h.SQN = 1 << 10
		challenge := h.Challenge(imsi)
		text += fmt.Sprintf(`  - name: authenticate-%[1]s
    match: {method: POST, path: /nausf-auth/v1/ue-authentications, body: [{jsonPointer: /supiOrSuci, equals: imsi-%[1]s}]}
    responses:
      - status: 201
        headers: [{name: content-type, value: application/3gppHal+json}, {name: location, value: /nausf-auth/v1/ue-authentications/%[1]s}]
        body: '%[2]s'
  - name: respond-%[1]s
    match: {method: POST, path: /nausf-auth/v1/ue-authentications/%[1]s/eap-session, body: [{jsonPointer: /eapPayload, equals: "%[3]s"}]}
    responses:
      - headers: [{name: content-type, value: application/json}]
        body: '{"authResult":"AUTHENTICATION_SUCCESS","eapPayload":"AwEABA==","supi":"imsi-%[1]s","kSeaf":"%[4]s"}'
`, imsi, fivegtest.JSON(challenge.Packet), base64.StdEncoding.EncodeToString(challenge.Response()), challenge.KSEAF(h.Network))
	}
	return text
}

// TestEAPOverHTTP: EAP-AKA' of three subscribers from the challenge to the success of the AUSF, and with a wrong key.
func TestEAPOverHTTP(t *testing.T) {
	waits(t)
	octets := func(digits string) []byte {
		b, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	h := &fivegtest.Home{K: octets("465b5ce8b199b49faa5f0a2ee238a6bc"), OPc: octets("cd63cb71954a9f4e48a5994e37a02baf"), AMF: [2]byte{0x80}, Step: 1,
		Network: "5G:mnc001.mcc001.3gppnetwork.org"}
	set, err := rules.LoadFile(file(t, "ausf.yaml", eapRules(h, "001010000000000", "001010000000001", "001010000000002")))
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		key                        string
		sent, succeeded, unmatched uint64
	}{
		"right key": {"465b5ce8b199b49faa5f0a2ee238a6bc", 6, 6, 0},
		"wrong key": {"00000000000000000000000000000000", 3, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			peer := serve(t, mock.Options{Rules: set})
			test := file(t, "eap.yaml", strings.Replace(eapTest, "465b5ce8b199b49faa5f0a2ee238a6bc", tt.key, 1))
			var out, problems bytes.Buffer
			execute(t.Context(), []string{"h2surge", "run", "-f", test, "-o", "json", "--target-url", "http://" + peer.Addr().String()}, strings.NewReader(""), &out, &problems, parts())
			r := &rv.Report{}
			if err := json.Unmarshal(out.Bytes(), r); err != nil {
				t.Fatalf("%v\n%s", err, problems.String())
			}
			if n, st := r.Requests, peer.Stats(); uint64(n.Sent) != tt.sent || uint64(n.Succeeded) != tt.succeeded || st.Unmatched != tt.unmatched {
				t.Errorf("%+v, %d without a rule, want %+v", n, st.Unmatched, tt)
			}
		})
	}
}
