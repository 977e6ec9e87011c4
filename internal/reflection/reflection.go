// Package reflection asks a server of gRPC for its proto files (grpc.reflection.v1, or v1alpha if the server has only
// that one). Each question is a stream of its own, so that the package needs a client of HTTP/2 only. It also has the
// answers of such a server.
package reflection

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/h2surge/h2surge/runner/grpc"
)

// Server is a server of gRPC. Transport sends requests over HTTP/2, and bounds the answers. Base is the URL before the
// paths of methods. Header is the metadata of each question.
type Server struct {
	Transport http.RoundTripper
	Base      string
	Header    http.Header
	// older: the server has version v1alpha only.
	older bool
}

// Fields of ServerReflectionRequest and ServerReflectionResponse (grpc/reflection/v1/reflection.proto).
const (
	askFile    protowire.Number = 3 // file_by_filename
	askSymbol  protowire.Number = 4 // file_containing_symbol
	askService protowire.Number = 7 // list_services

	answerFiles    protowire.Number = 4
	answerServices protowire.Number = 6
	answerError    protowire.Number = 7
)

// maxFiles bounds the files of a server.
const maxFiles = 10_000

// Services returns the names of the services of the server, without those of reflection.
func (s *Server) Services(ctx context.Context) (names []string, err error) {
	err = s.ask(ctx, askService, "", func(field protowire.Number, value []byte) error {
		if field != answerServices {
			return nil
		}
		return fields(value, func(_ protowire.Number, service []byte) error {
			return fields(service, func(_ protowire.Number, name []byte) error {
				if !strings.HasPrefix(string(name), "grpc.reflection.") {
					names = append(names, string(name))
				}
				return nil
			})
		})
	})
	slices.Sort(names)
	return names, err
}

// Files returns a FileDescriptorSet with the files of services and all files that these import.
func (s *Server) Files(ctx context.Context, services []string) ([]byte, error) {
	found := map[string]*descriptorpb.FileDescriptorProto{}
	for _, service := range services {
		if err := s.add(ctx, found, askSymbol, service); err != nil {
			return nil, fmt.Errorf("service %s: %w", service, err)
		}
	}
	for missing := imports(found); len(missing) > 0; missing = imports(found) {
		if err := s.add(ctx, found, askFile, missing[0]); err != nil {
			return nil, fmt.Errorf("file %s: %w", missing[0], err)
		}
		if found[missing[0]] == nil || len(found) > maxFiles {
			return nil, fmt.Errorf("file %s: the server has no such file, or too many", missing[0])
		}
	}
	set := &descriptorpb.FileDescriptorSet{}
	for _, f := range found {
		set.File = append(set.File, f)
	}
	slices.SortFunc(set.File, func(a,
		b *descriptorpb.FileDescriptorProto) int {
		return cmp.Compare(a.GetName(), b.GetName())
	})
	return proto.MarshalOptions{Deterministic: true}.Marshal(set)
}

// imports returns the names of files that others import and that were not found yet.
func imports(found map[string]*descriptorpb.FileDescriptorProto) (missing []string) {
	for _, f := range found {
		for _, name := range f.GetDependency() {
			if found[name] == nil {
				missing = append(missing, name)
			}
		}
	}
	slices.Sort(missing)
	return missing
}

// add adds the files of an answer.
func (s *Server) add(ctx context.Context, to map[string]*descriptorpb.FileDescriptorProto, question protowire.Number,
	name string) error {
	return s.ask(ctx, question, name, func(field protowire.Number, value []byte) error {
		if field != answerFiles {
			return nil
		}
		return fields(value, func(_ protowire.Number, octets []byte) error {
			f := &descriptorpb.FileDescriptorProto{}
			if err := proto.Unmarshal(octets, f); err != nil {
				return errors.New("the answer has a file that is not a FileDescriptorProto")
			}
			to[f.GetName()] = f
			return nil
		})
	})
}

// ask sends a question, and calls visit with the fields of the answer. A server without version v1 is asked with
// v1alpha.
func (s *Server) ask(ctx context.Context, question protowire.Number, name string,
	visit func(protowire.Number, []byte) error) error {
	if !s.older {
		err := s.askVersion(ctx, path, question, name, visit)
		if !errors.Is(err, errUnimplemented) {
			return err
		}
		s.older = true
	}
	return s.askVersion(ctx, olderPath, question, name, visit)
}

// The paths of the only method, of v1 and of v1alpha.
const (
	path      = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
	olderPath = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
)

// prefix is the length of what precedes a message of gRPC, in octets.
const prefix = 5

var errUnimplemented = errors.New("the server has no reflection")

func (s *Server) askVersion(ctx context.Context, path string, question protowire.Number, name string,
	visit func(protowire.Number, []byte) error) error {
	message := protowire.AppendString(protowire.AppendTag(nil, question, protowire.BytesType), name)
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	maps.Copy(r.Header, s.Header)
	r.Header.Set("Content-Type", "application/grpc")
	r.Header.Set("TE", "trailers")
	answer, err := s.Transport.RoundTrip(r)
	if err != nil {
		return withoutURL(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return withoutURL(err)
	}
	if err := failure(answer); err != nil {
		return err
	}
	return messages(content, func(message []byte) error {
		return fields(message, func(field protowire.Number, value []byte) error {
			if field == answerError {
				return refusal(value)
			}
			return visit(field, value)
		})
	})
}

// withoutURL is an error without the URL, which can have secrets.
func withoutURL(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

// failure returns why a call failed, or nil.
func failure(answer *http.Response) error {
	code, message := answer.Trailer.Get("Grpc-Status"), answer.Trailer.Get("Grpc-Message")
	if code == "" { // trailers only
		code, message = answer.Header.Get("Grpc-Status"), answer.Header.Get("Grpc-Message")
	}
	switch name := grpc.Code([]byte(code)); {
	case code == "" && answer.StatusCode != http.StatusOK:
		return fmt.Errorf("the server answered %d, which is not an answer of gRPC", answer.StatusCode)
	case code == "":
		return errors.New("the answer has no grpc-status: the server does not speak gRPC")
	case name == "UNIMPLEMENTED":
		return errUnimplemented
	case name != "OK":
		return fmt.Errorf("the server refused: %s: %s", name, message)
	}
	return nil
}

// refusal is an ErrorResponse: a code and a message.
func refusal(value []byte) error {
	text := ""
	_ = fields(value, func(field protowire.Number, value []byte) error {
		if field == 2 {
			text = string(value)
		}
		return nil
	})
	return fmt.Errorf("the server answered: %s", text)
}

var errMessage = errors.New("the answer is not a message of reflection")

// messages calls visit with each message of a body.
func messages(body []byte, visit func([]byte) error) error {
	for len(body) > 0 {
		if len(body) < prefix || body[0] != 0 || uint64(len(body)-prefix) < uint64(binary.BigEndian.Uint32(body[1:])) {
			return errMessage
		}
		n := binary.BigEndian.Uint32(body[1:])
		if err := visit(body[prefix:][:n]); err != nil {
			return err
		}
		body = body[prefix:][n:]
	}
	return nil
}

// fields calls visit with the fields of a message that have a length: strings and messages.
func fields(message []byte, visit func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errMessage
		}
		length := protowire.ConsumeFieldValue(number, kind, message[n:])
		if length < 0 {
			return errMessage
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message[n:])
			if err := visit(number, value); err != nil {
				return err
			}
		}
		message = message[n+length:]
	}
	return nil
}
