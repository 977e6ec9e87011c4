package reflection

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	h2grpc "github.com/h2surge/h2surge/runner/grpc"
)

const served = `syntax = "proto3"; package a; import "google/protobuf/duration.proto"; message M { google.protobuf.Duration d = 1; } service S { rpc Do(M) returns (M); }`

// FuzzQuestion: whatever a client asks, the answer is one message with the question and one other field.
func FuzzQuestion(f *testing.F) {
	s, err := h2grpc.NewSchema([]h2grpc.File{{Name: "a.proto", Content: []byte(served)}})
	if err != nil {
		f.Fatal(err)
	}
	for question, name := range map[protowire.Number]string{askFile: "a.proto", askSymbol: "a.S.Do", askService: "", askExtension: "x"} {
		f.Add(appendField(nil, question, []byte(name)))
	}
	f.Add([]byte("\x22\xff"))
	f.Fuzz(func(t *testing.T, question []byte) {
		answer := AppendAnswer([]byte("before"), s.Files(), append(make([]byte, 5), question...))
		seen := 0
		err := messages([]byte(strings.TrimPrefix(string(answer), "before")), func(message []byte) error {
			return fields(message, func(field protowire.Number, value []byte) error {
				if seen++; (field == answerQuestion) != (seen == 1) || seen == 1 && string(value) != string(question) {
					t.Errorf("field %d is %d: %q", seen, field, value)
				}
				return nil
			})
		})
		if err != nil || seen != 2 {
			t.Errorf("%d fields, %v", seen, err)
		}
	})
}

// TestAnswer: a symbol and a file are answered with the file and what it imports, everything else with an error.
func TestAnswer(t *testing.T) {
	s, err := h2grpc.NewSchema([]h2grpc.File{{Name: "a.proto", Content: []byte(served)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		question protowire.Number
		name     string
		want     protowire.Number
		parts    int
	}{
		{askFile, "a.proto", answerFiles, 2},
		{askFile, "b.proto", answerError, 1},
		{askSymbol, "a.S", answerFiles, 2},
		{askSymbol, "a.S.Do", answerFiles, 2},
		{askSymbol, "google.protobuf.Duration", answerFiles, 1},
		{askSymbol, "a.T", answerError, 1},
		{askService, "", answerServices, 1},
		{askExtensions, "a.M", answerError, 1},
	} {
		field, value := answer(s.Files(), tt.question, tt.name)
		parts := 0
		if err := fields(value, func(protowire.Number, []byte) error { parts++; return nil }); err != nil || field != tt.want || parts != tt.parts {
			t.Errorf("%d %q: field %d with %d parts, %v; want %d with %d", tt.question, tt.name, field, parts, err, tt.want, tt.parts)
		}
	}
}
