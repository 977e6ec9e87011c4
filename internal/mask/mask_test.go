package mask_test

import (
	"testing"

	"github.com/h2surge/h2surge/internal/mask"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:                                `{"a":1}`,
		`{"refresh_token" : "x\"y","a":1}`:       `{"refresh_token" : "***","a":1}`,
		`{"clientSecret":12,"a":1}`:              `{"clientSecret":"***","a":1}`,
		`Authorization: Bearer abcdef.ghi-jkl==`: `Authorization: Bearer ***`,
		`password=hunter2&user=a`:                `password=***&user=a`,
		`{"pduSessionId": 5, "sessionId":5}`:     `{"pduSessionId": 5, "sessionId":"***"}`,
		`{"pduSessionToken":5}`:                  `{"pduSessionToken":"***"}`,
		`pduSessionId=5&sessionId=5`:             `pduSessionId=5&sessionId=***`,
		`pduSessionUri=a?token=b`:                `pduSessionUri=a?token=***`,
		`{"token":"cut in the mid`:               `{"token":"***"`,
	} {
		if got := mask.Text(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestIsSecret(t *testing.T) {
	for name, want := range map[string]bool{
		"Authorization": true, "set-cookie": true, "x-api-key": true, "access_token": true,
		"pduSessionId": false, "pdu-session-id": false, "pduSessionSecret": true, "session": true,
		"content-type": false, "location": false, "": false, "x token": false,
	} {
		if got := mask.IsSecret(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}
