package mask_test

import (
	"bytes"
	"encoding/json"
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
		// Header fields and contents of a 5G core.
		`3gpp-Sbi-Client-Credentials=eyJh.eyJz.c2ln`:                             `3gpp-Sbi-Client-Credentials=***`,
		`{"access_token":"eyJh.eyJz.c2ln","token_type":"Bearer","a":1}`:          `{"access_token":"***","token_type":"***","a":1}`,
		`{"5gAuthData":{"rand":"a1","autn":"b2","hxresStar":"c3"},"kseaf":"d4"}`: `{"5gAuthData":{"rand":"a1","autn":"b2","hxresStar":"c3"},"kseaf":"***"}`,
		`{"kausf":"a1","kSeaf":"b2","keyAmf":{"keyType":"KAMF","keyVal":"c3"}}`:  `{"kausf":"***","kSeaf":"***","keyAmf":"***"}`,
		`{"encPermanentKey":"a1","encOpcKey":"b2","encTopcKey":"c3","sqn":1}`:    `{"encPermanentKey":"***","encOpcKey":"***","encTopcKey":"***","sqn":1}`,
		`{"permanentKey":{"permanentKeyValue":"a1"},"opc":{"opcValue":"b2"}}`:    `{"permanentKey":"***","opc":"***"}`,
		`{"opc":"a1","linkAmfId":"b2"}`:                                          `{"opc":"***","linkAmfId":"b2"}`,
		`{"authenticationMethod":"5G_AKA","authenticationVector":{"rand":"a1"}}`: `{"authenticationMethod":"5G_AKA","authenticationVector":"***"}`,
		`authenticationMethod=5G_AKA&authentication=a1`:                          `authenticationMethod=5G_AKA&authentication=***`,
		// Keys.
		`{"accessKey":"a1","encryptionKey":"b2","keyType":"aes","n":1}`: `{"accessKey":"***","encryptionKey":"***","keyType":"aes","n":1}`,
		`{"keyword":"a","publicKey":"b","key":"c","keys":["d"]}`:        `{"keyword":"a","publicKey":"b","key":"***","keys":"***"}`,
		`/v1/maps?key=a1&subscription_key=b2&idempotency_key=c3`:        `/v1/maps?key=***&subscription_key=***&idempotency_key=c3`,
		`{"keyTypes":[{"privateKeyType":"a1","accessKey":"b2"}]}`:       `{"keyTypes":[{"privateKeyType":"***","accessKey":"***"}]}`,
		`key=<secret keys/api>&a=1`:                                     `key=***&a=1`,
		// Quoted parameters.
		`user=bob; token="hun ter2"; a=b`:            `user=bob; token=***; a=b`,
		`<u password='x y'/>`:                        `<u password=***/>`,
		`<u password="a\"b" id="1"/>`:                `<u password=*** id="1"/>`,
		`apiKey='a"b', token="cut in`:                `apiKey=***, token=***`,
		`{"m":"bad token=\"a \\\"b\" of c","x":1}`:   `{"m":"bad token=*** of c","x":1}`,
		`{"m":"bad token=\"cut in","x":1}`:           `{"m":"bad token=***","x":1}`,
		`{"m":"bad token='cut in","x":1}`:            `{"m":"bad token=***","x":1}`,
		`{"q":"token=","x":1}`:                       `{"q":"token=","x":1}`,
		`[{"q":"token="},["token="],{"token=" : 1}]`: `[{"q":"token="},["token="],{"token=" : 1}]`,
		`{"token=":1,"q":"password=\"\""}`:           `{"token=":1,"q":"password=***"}`,
		`msg="no token=" password="" a="b"`:          `msg="no token=" password="" a="b"`,
		`pduSessionUri="a?token=b" a="c"`:            `pduSessionUri="a?token=***" a="c"`,
		// Objects and arrays.
		`{"credentials":{"user":"a","value":"}]\"s"},"b":1}`: `{"credentials":"***","b":1}`,
		`{"tokens":["a","b"],"b":[1]}`:                       `{"tokens":"***","b":[1]}`,
		`{"tokens":["a","cut in`:                             `{"tokens":"***"`,
		`{"a":{"tokens":[["a"],{"b":"c"}]}}`:                 `{"a":{"tokens":"***"}}`,
	} {
		if got := mask.Text(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestIsSecret(t *testing.T) {
	for name, want := range map[string]bool{
		"Authorization": true, "set-cookie": true, "x-api-key": true, "access_token": true, "3gpp-sbi-client-credentials": true, "3gpp-sbi-access-token": true, "opc": true, "op": false,
		"ocp-apim-subscription-key": true, "accessKey": true, "key": true, "aws_access_key_id": true, "signingKeyV2": true,
		"keyType": false, "key-type": false, "Idempotency-Key": false, "keywords": false, "publicKey": false, "keyTypeToken": true, "keep-alive": false,
		"pduSessionId": false, "pdu-session-id": false, "pduSessionSecret": true, "session": true,
		"authenticationMethod": false, "authentication-type": false, "authenticationManagementField": false, "authenticationMethodToken": true, "x-authentication": true,
		"content-type": false, "location": false, "": false, "x token": false,
	} {
		if got := mask.IsSecret(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

// FuzzText: a JSON value under a secret name is masked as a whole, and every other text gives some text.
func FuzzText(f *testing.F) {
	for _, seed := range []string{`"a\"b"`, `{"a":[1,"}"]}`, `[["\\"],{}]`, `-1e5`, `null`, `{"token":{"token":1}}`, `token=[a`, `"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		mask.Text(in)
		var value bytes.Buffer
		if json.Compact(&value, []byte(in)) != nil {
			return
		}
		if got := mask.Text(`{"token":` + value.String() + `,"a":1}`); got != `{"token":"***","a":1}` {
			t.Errorf("%s: %s", in, got)
		}
	})
}
