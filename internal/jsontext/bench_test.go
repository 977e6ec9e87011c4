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

// instances are 4 KiB of a response of an NRF, with eight NF profiles.
var instances = func() []byte {
	const profile = `{"nfInstanceId":"6f7d1e9c-2f3a-41d4-a716-446655440001","nfType":"TYPE","nfStatus":"REGISTERED","plmnList":[{"mcc":"001","mnc":"01"}],` +
		`"ipv4Addresses":["10.0.0.1"],"capacity":100,"load":7,"nfServices":[{"serviceInstanceId":"1","serviceName":"nudm-sdm",` +
		`"versions":[{"apiVersionInUri":"v1","apiFullVersion":"1.0.0"}],"scheme":"http","nfServiceStatus":"REGISTERED","ipEndPoints":[{"ipv4Address":"10.0.0.1","port":8000}]}]}`
	var all []string
	for _, kind := range []string{"AMF", "SMF", "PCF", "AUSF", "UDR", "NSSF", "UDM", "BSF"} {
		all = append(all, strings.Replace(profile, "TYPE", kind, 1))
	}
	doc := `{"validityPeriod":3600,"nfInstances":[` + strings.Join(all, ",") + `]}`
	return []byte(doc + strings.Repeat(" ", max(0, 4096-len(doc))))
}()

// BenchmarkPath compares a path with the pointer to the same value.
func BenchmarkPath(b *testing.B) {
	pointer, err := ParsePointer("/nfInstances/6/nfServices/0/serviceName")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("pointer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			pointer.Find(nil, instances)
		}
	})
	for _, path := range []string{"$.nfInstances[6].nfServices[0].serviceName", "$.nfInstances[?@.nfType=='UDM'].nfServices[0].serviceName", "$..ipEndPoints[0].port"} {
		p, err := ParsePath(path)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Find(nil, instances)
			}
		})
	}
}
