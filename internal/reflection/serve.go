package reflection

import (
	"encoding/binary"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Other fields of ServerReflectionRequest and ServerReflectionResponse.
const (
	askExtension  protowire.Number = 5 // file_containing_extension
	askExtensions protowire.Number = 6 // all_extension_numbers_of_type

	answerQuestion protowire.Number = 2
)

// Codes of an ErrorResponse.
const (
	codeNotFound      = 5
	codeUnimplemented = 12
)

// Serves returns whether a path is one that AppendAnswer answers.
func Serves(of string) bool { return of == path || of == olderPath }

// AppendAnswer appends the answer of a server with some files to a question. Both are messages with their prefixes.
func AppendAnswer(dst []byte, files *protoregistry.Files, question []byte) []byte {
	question = question[prefix:]
	number, value := protowire.Number(0), ""
	_ = fields(question, func(field protowire.Number, text []byte) error {
		if field >= askFile && field <= askService {
			number, value = field, string(text)
		}
		return nil
	})
	field, content := answer(files, number, value)
	at := len(dst)
	dst = appendField(append(dst, make([]byte, prefix)...), answerQuestion, question)
	dst = appendField(dst, field, content)
	binary.BigEndian.PutUint32(dst[at+1:], uint32(len(dst)-at-prefix))
	return dst
}

func appendField(dst []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, number, protowire.BytesType), value)
}

// answer returns the field of the answer to a question.
func answer(files *protoregistry.Files, question protowire.Number, name string) (protowire.Number, []byte) {
	switch question {
	case askService:
		return answerServices, services(files)
	case askFile:
		if f, err := files.FindFileByPath(name); err == nil {
			return answerFiles, appendFiles(nil, f, map[string]bool{})
		}
	case askSymbol:
		if d, err := files.FindDescriptorByName(protoreflect.FullName(name)); err == nil {
			return answerFiles, appendFiles(nil, d.ParentFile(), map[string]bool{})
		}
	case askExtension, askExtensions:
		return answerError, failed(codeUnimplemented, "extensions are not served")
	}
	return answerError, failed(codeNotFound, "not found: "+name)
}

func failed(code uint64, message string) []byte {
	out := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), code)
	return appendField(out, 2, []byte(message))
}

// services is a ListServiceResponse.
func services(files *protoregistry.Files) (out []byte) {
	var names []string
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			names = append(names, string(f.Services().Get(i).FullName()))
		}
		return true
	})
	slices.SortFunc(names, strings.Compare)
	for _, name := range names {
		out = appendField(out, 1, appendField(nil, 1, []byte(name)))
	}
	return out
}

// appendFiles appends a file, and the files that it imports and that were not appended before.
func appendFiles(dst []byte, f protoreflect.FileDescriptor, appended map[string]bool) []byte {
	if appended[f.Path()] || f.IsPlaceholder() {
		return dst
	}
	appended[f.Path()] = true
	if octets, err := proto.Marshal(protodesc.ToFileDescriptorProto(f)); err == nil {
		dst = appendField(dst, 1, octets)
	}
	for i := range f.Imports().Len() {
		dst = appendFiles(dst, f.Imports().Get(i).FileDescriptor, appended)
	}
	return dst
}
