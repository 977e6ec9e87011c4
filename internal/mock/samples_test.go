package mock

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/h2surge/h2surge/internal/mock/rules"
)

// turn is what a client says to a sample and what it hears. In paths and wants, {id} stands for the
// id at the end of the last location.
type turn struct {
	method, path, kind, body string
	want                     int
	say                      string // a regular expression for "location body"
}

const (
	jsonType  = "application/json"
	patchType = "application/json-patch+json"
	formType  = "application/x-www-form-urlencoded"
)

var samples = map[string][]turn{
	"nrf.yaml": {
		{"GET", "/nnrf-disc/v1/nf-instances", "", "", 400, `"cause":"MANDATORY_QUERY_PARAM_MISSING"`},
		{"PUT", "/nnrf-nfm/v1/nf-instances/4947a69a", jsonType, `{"nfInstanceId":"4947a69a","nfType":"UDM","nfStatus":"REGISTERED"}`, 201, `^/nnrf-nfm/v1/nf-instances/4947a69a .*"UDM"`},
		{"PUT", "/nnrf-nfm/v1/nf-instances/4947a69a", jsonType, `{"nfInstanceId":"4947a69a","nfType":"UDM","nfStatus":"SUSPENDED"}`, 200, `^ .*SUSPENDED`},
		{"GET", "/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AMF", "", "", 200, `"nfInstances":\[\]`},
		{"PATCH", "/nnrf-nfm/v1/nf-instances/4947a69a", patchType, `[{"op":"replace","path":"/nfStatus","value":"REGISTERED"}]`, 204, `^ $`},
		{"PATCH", "/nnrf-nfm/v1/nf-instances/4947a69a", patchType, `[{"op":"test","path":"/nfStatus","value":"REGISTERED"}]`, 200, `"nfStatus":"REGISTERED"`},
		{"GET", "/nnrf-disc/v1/nf-instances?target-nf-type=UDM&requester-nf-type=AMF", "", "", 200, `"nfInstances":\[\{"nfInstanceId":"4947a69a","nfStatus":"REGISTERED","nfType":"UDM"\}\]`},
		{"GET", "/nnrf-disc/v1/nf-instances?target-nf-type=PCF&requester-nf-type=AMF", "", "", 200, `"nfInstances":\[\]`},
		{"DELETE", "/nnrf-nfm/v1/nf-instances/4947a69a", "", "", 204, `^ $`},
		{"PATCH", "/nnrf-nfm/v1/nf-instances/4947a69a", patchType, `[]`, 404, `"cause":"DATA_NOT_FOUND"`},
		{"POST", "/nnrf-nfm/v1/subscriptions", jsonType, `{"nfStatusNotificationUri":"http://127.0.0.1:1/b"}`, 201, `{"nfStatusNotificationUri":"http://127.0.0.1:1/b","subscriptionId":"{id}"}$`},
		{"DELETE", "/nnrf-nfm/v1/subscriptions/{id}", "", "", 204, ""},
		{"DELETE", "/nnrf-nfm/v1/subscriptions/{id}", "", "", 404, "SUBSCRIPTION_NOT_FOUND"},
		{"POST", "/oauth2/token", "application/x-www-form-urlencoded", "grant_type=client_credentials&nfInstanceId=4947a69a&nfType=AMF&scope=nudm-sdm&targetNfType=UDM", 200, `"access_token":"[0-9a-f]{64}"`},
		{"POST", "/oauth2/token", "application/x-www-form-urlencoded", "grant_type=client_credentials&scope=nudm-sdm", 400, `"error":"invalid_request"`},
		{"POST", "/oauth2/token", "application/x-www-form-urlencoded", "grant_type=password", 400, `"error":"unsupported_grant_type"`},
	},
	"nrf-tokens.yaml": {
		{"POST", "/oauth2/token", formType, "grant_type=client_credentials&nfInstanceId=4947a69a&nfType=AMF&scope=nudm-sdm&targetNfType=UDM", 400, `"title":"invalid_client"`},
		{"PUT", "/nnrf-nfm/v1/nf-instances/4947a69a", jsonType, `{"nfType":"AMF"}`, 201, `"AMF"`},
		{"POST", "/oauth2/token", formType, "grant_type=client_credentials&nfInstanceId=4947a69a&nfType=AMF&scope=nudm-sdm&targetNfType=UDM", 200, `"access_token":"t\d+\.nudm-sdm"`},
		{"GET", "/nudm-sdm/v2/imsi-1/am-data", "", "", 401, "Unauthorized"},
		{"DELETE", "/nnrf-nfm/v1/nf-instances/4947a69a", "", "", 403, "INSUFFICIENT_SCOPE"},
	},
	"ausf.yaml": {
		{"POST", "/nausf-auth/v1/ue-authentications", jsonType, `{}`, 400, "MANDATORY_IE_MISSING"},
		{"POST", "/nausf-auth/v1/ue-authentications", jsonType, `{"supiOrSuci":"imsi-001010000000007","servingNetworkName":"5G:mnc002.mcc001.3gppnetwork.org"}`, 403, "SERVING_NETWORK_NOT_AUTHORIZED"},
		{"POST", "/nausf-auth/v1/ue-authentications", jsonType, `{"supiOrSuci":"imsi-999990000000007","servingNetworkName":"5G:mnc001.mcc001.3gppnetwork.org"}`, 404, "USER_NOT_FOUND"},
		{"POST", "/nausf-auth/v1/ue-authentications", jsonType, `{"supiOrSuci":"suci-0-999-99-0-0-0-7","servingNetworkName":"5G:mnc001.mcc001.3gppnetwork.org"}`, 404, "USER_NOT_FOUND"},
		{"POST", "/nausf-auth/v1/ue-authentications", jsonType, `{"supiOrSuci":"suci-0-001-01-0-0-0-0000000007","servingNetworkName":"5G:mnc001.mcc001.3gppnetwork.org"}`, 201, `^/nausf-auth/v1/ue-authentications/{id} (?s:.*)"autn": "55f328b43577b9b94a9ffac354dfafb3"(?s:.*)/nausf-auth/v1/ue-authentications/{id}/5g-aka-confirmation"`},
		{"PUT", "/nausf-auth/v1/ue-authentications/{id}/5g-aka-confirmation", jsonType, `{"resStar":"f236a7417272bfb2d66d4d670733b528"}`, 200, "AUTHENTICATION_FAILURE"},
		{"PUT", "/nausf-auth/v1/ue-authentications/{id}/5g-aka-confirmation", jsonType, `{"resStar":"f236a7417272bfb2d66d4d670733b527"}`, 200, `AUTHENTICATION_SUCCESS", "supi": "imsi-001010000000007"`},
		{"DELETE", "/nausf-auth/v1/ue-authentications/{id}/5g-aka-confirmation", "", "", 204, ""},
		{"PUT", "/nausf-auth/v1/ue-authentications/{id}/5g-aka-confirmation", jsonType, `{"resStar":"f236a7417272bfb2d66d4d670733b527"}`, 404, "CONTEXT_NOT_FOUND"},
	},
	"udm.yaml": {
		{"GET", "/nudm-sdm/v2/imsi-001010000000001/am-data", "", "", 200, `"gpsis": \["msisdn-\d{7}"\]`},
		{"GET", "/nudm-sdm/v2/imsi-999990000000001/am-data", "", "", 404, `"detail":"there is no imsi-999990000000001","cause":"USER_NOT_FOUND"`},
		{"GET", "/nudm-sdm/v2/imsi-001010000000001/sm-data?dnn=internet", "", "", 200, `"dnnConfigurations":{"internet":`},
		{"GET", "/nudm-sdm/v2/imsi-001010000000001/smf-select-data", "", "", 200, `internet`},
		{"POST", "/nudm-sdm/v2/imsi-1/sdm-subscriptions", jsonType, `{"nfInstanceId":"x"}`, 201, `^/nudm-sdm/v2/imsi-1/sdm-subscriptions/[-0-9a-f]{36} {"nfInstanceId":"x"}`},
		{"DELETE", "/nudm-sdm/v2/imsi-1/sdm-subscriptions/{id}", "", "", 204, ""},
		{"PATCH", "/nudr-dr/v2/subscription-data/imsi-1/pp-data", patchType, `[]`, 204, ""},
	},
	"pcf.yaml": {
		{"GET", "/npcf-policyauthorization/v1/app-sessions/none", "", "", 404, "DATA_NOT_FOUND"},
		{"POST", "/npcf-policyauthorization/v1/app-sessions", jsonType, `{"ascReqData":{"suppFeat":"0","dnn":"ims"}}`, 201, `^/npcf-policyauthorization/v1/app-sessions/\S+ {"ascReqData"`},
		{"PATCH", "/npcf-policyauthorization/v1/app-sessions/{id}", "application/merge-patch+json", `{"ascReqData":{"dnn":null}}`, 200, `{"ascReqData":{"suppFeat":"0"}}`},
		{"GET", "/npcf-policyauthorization/v1/app-sessions/{id}", "", "", 200, `{"ascReqData":{"suppFeat":"0"}}`},
		{"POST", "/npcf-policyauthorization/v1/app-sessions/{id}/delete", "", "", 204, ""},
		{"DELETE", "/npcf-policyauthorization/v1/app-sessions/{id}", "", "", 404, "APPLICATION_SESSION_CONTEXT_NOT_FOUND"},
		{"POST", "/npcf-smpolicycontrol/v1/sm-policies", jsonType, `{"supi":"imsi-1","ipv4Address":"10.0.0.1"}`, 201, `^/npcf-smpolicycontrol/v1/sm-policies/\S+ {"sessRules"`},
		{"POST", "/npcf-smpolicycontrol/v1/sm-policies/{id}/update", jsonType, `{"ruleReports":[]}`, 200, `^ \{\}$`},
		{"POST", "/npcf-smpolicycontrol/v1/sm-policies/{id}/delete", jsonType, `{}`, 204, ""},
		{"POST", "/npcf-smpolicycontrol/v1/sm-policies/{id}/delete", jsonType, `{}`, 404, "POLICY_ASSOCIATION_NOT_FOUND"},
	},
	"smf.yaml": {
		{"PUT", "/nnrf-nfm/v1/nf-instances/1", jsonType, `{"nfInstanceId":"1"}`, 201, `"1"`},
		{"DELETE", "/nnrf-nfm/v1/nf-instances/1", "", "", 204, ""},
		{"POST", "/nsmf-pdusession/v1/sm-contexts", jsonType, `{"pduSessionId":5}`, 400, "MANDATORY_IE_MISSING"},
		{"POST", "/nsmf-pdusession/v1/sm-contexts", "multipart/related; boundary=b",
			"--b\r\nContent-Type: application/json\r\n\r\n{\"pduSessionId\":5,\"dnn\":\"internet\",\"sNssai\":{\"sst\":1}}\r\n--b\r\nContent-Type: application/vnd.3gpp.5gnas\r\nContent-Id: n1\r\n\r\n\x2e\x05\r\n--b--\r\n",
			201, `^http://127\S+/nsmf-pdusession/v1/sm-contexts/\S+ {"pduSessionId":5,"sNssai":{"sst":1}}`},
		{"POST", "/nsmf-pdusession/v1/sm-contexts/{id}/modify", jsonType, `{"upCnxState":"DEACTIVATED"}`, 200, `{"upCnxState":"DEACTIVATED"}`},
		{"POST", "/nsmf-pdusession/v1/sm-contexts/{id}/modify", jsonType, `{"upCnxState":"ACTIVATING"}`, 200, `(?s)Content-Type: application/json\r\n\r\n\{"upCnxState":"ACTIVATING".*\r\nContent-ID: n2msg\r\n\r\n\x00\x00\x04`},
		{"POST", "/nsmf-pdusession/v1/sm-contexts/{id}/modify", "multipart/related; boundary=b",
			"--b\r\nContent-Type: application/json\r\n\r\n{\"upCnxState\":\"ACTIVATED\"}\r\n--b\r\nContent-Type: application/vnd.3gpp.ngap\r\nContent-Id: n2\r\n\r\n\x00\r\n--b--\r\n", 200, `{"upCnxState":"ACTIVATED"}`},
		{"POST", "/nsmf-pdusession/v1/sm-contexts/{id}/retrieve", "", "", 200, `"upCnxState":"ACTIVATED"`},
		{"POST", "/nsmf-pdusession/v1/sm-contexts/{id}/release", "", "", 204, ""},
		{"POST", "/nsmf-pdusession/v1/sm-contexts/{id}/release", "", "", 404, "CONTEXT_NOT_FOUND"},
		{"POST", "/nsmf-pdusession/v1/sm-contexts/{id}/modify", jsonType, `{"release":true}`, 404, "CONTEXT_NOT_FOUND"},
		{"POST", "/nsmf-event-exposure/v1/subscriptions", jsonType, `{"supi":"imsi-1"}`, 201, `{"supi":"imsi-1"}`},
		{"DELETE", "/nsmf-event-exposure/v1/subscriptions/{id}", "", "", 204, ""},
	},
	"grpc.yaml": { // TestSampleOfCalls has the calls; others are requests of HTTP
		{"POST", "/grpc.health.v1.Health/Check", jsonType, `{}`, 200, `{"status": "SERVING"}`},
		{"POST", "/registry.v1.Management/Deregister", jsonType, `{"nfInstanceId":"x"}`, 404, "DATA_NOT_FOUND"},
	},
	"amf.yaml": {
		{"POST", "/namf-evts/v1/subscriptions", jsonType, `{"subscription":{}}`, 400, "MANDATORY_IE_INCORRECT"},
		{"POST", "/namf-evts/v1/subscriptions", jsonType, `{"subscription":{"eventNotifyUri":"http://127.0.0.1:1/b","anyUE":true}}`, 201, `{"subscription":{"eventNotifyUri":"http://127.0.0.1:1/b","anyUE":true},"subscriptionId":"{id}"}`},
		{"PATCH", "/namf-evts/v1/subscriptions/{id}", patchType, `[{"op":"replace","path":"/subscription/anyUE","value":false}]`, 200, `"anyUE":false`},
		{"PATCH", "/namf-evts/v1/subscriptions/{id}", patchType, `[{"op":"test","path":"/subscription/anyUE","value":true}]`, 409, `"status":409`},
		{"PATCH", "/namf-evts/v1/subscriptions/{id}", patchType, `[{"op":"replace","path":"/options/expiry","value":"2026-03-04T04:06:07Z"}]`, 200, `"anyUE":false`},
		{"DELETE", "/namf-evts/v1/subscriptions/{id}", "", "", 204, ""},
		{"PATCH", "/namf-evts/v1/subscriptions/{id}", patchType, `[{"op":"replace","path":"/options/expiry","value":"2026-03-04T04:06:07Z"}]`, 404, "SUBSCRIPTION_NOT_FOUND"},
	},
}

func TestSamples(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/targets/*.yaml")
	if err != nil || len(files) != len(samples) {
		t.Fatalf("%d samples, %d conversations, %v", len(files), len(samples), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if len(samples[filepath.Base(file)]) == 0 {
				t.Fatal("there is no conversation with it")
			}
			set, err := rules.LoadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			onBoth(t, Options{Rules: set, Seed: 2}, func(t *testing.T, s *Server) {
				converse(t, s, samples[filepath.Base(file)])
				checkSum(t, s)
			})
		})
	}
}

func converse(t *testing.T, s *Server, turns []turn) {
	c, id := client(t), ""
	for i, u := range turns {
		path := strings.ReplaceAll(u.path, "{id}", id)
		req, err := http.NewRequestWithContext(t.Context(), u.method, "http://"+s.Addr().String()+path, strings.NewReader(u.body))
		if err != nil {
			t.Fatal(err)
		}
		if u.kind != "" {
			req.Header.Set("Content-Type", u.kind)
		}
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		location := res.Header.Get("Location")
		if location != "" {
			id = location[strings.LastIndexByte(location, '/')+1:]
		}
		said := location + " " + string(body)
		want := regexp.MustCompile(strings.ReplaceAll(u.say, "{id}", id))
		if res.StatusCode != u.want || !want.MatchString(said) {
			t.Errorf("turn %d, %s %s: %d %q; want %d %q", i, u.method, path, res.StatusCode, said, u.want, u.say)
		}
		if kind := res.Header.Get("Content-Type"); len(body) > 0 && !strings.HasPrefix(kind, "multipart/") && (!strings.HasSuffix(kind, "json") || !json.Valid(body)) {
			t.Errorf("turn %d: %q is not JSON, or %q does not say so", i, body, kind)
		}
	}
}
