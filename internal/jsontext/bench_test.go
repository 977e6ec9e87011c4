package jsontext

import (
	"encoding/json"
	"strings"
	"testing"
)

// session is 1 KiB as an NF of a 5G core would write it.
var session = func() []byte {
	const member = `{"medCompN":1,"afAppId":"application-0001","fStatus":"ENABLED","marBwDl":"25 Mbps","marBwUl":"25 Mbps"}`
	doc := `{"ascReqData":{"gpsi":"msisdn-491700000001","ueIpv4":"10.45.0.2","suppFeat":"3f","medComponents":[` +
		strings.Repeat(member+",", 7) + member + `],"notifUri":"http://af.example.com/notify/1"},"evSubsc":{"last":"here"}}`
	return []byte(doc + strings.Repeat(" ", 1024-len(doc)))
}()

func BenchmarkFind(b *testing.B) {
	for _, pointer := range []string{"/evSubsc/last", "/ascReqData/medComponents/7/fStatus", "/ascReqData/medComponents/-1/fStatus", "/none"} {
		b.Run(pointer, func(b *testing.B) {
			p, err := ParsePointer(pointer)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(session)))
			b.ReportAllocs()
			for b.Loop() {
				p.Find(nil, session)
			}
		})
	}
}

// BenchmarkValid is what the standard library takes to see that the document is valid.
func BenchmarkValid(b *testing.B) {
	for b.Loop() {
		json.Valid(session)
	}
}
