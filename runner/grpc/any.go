package grpc

import (
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/runtime/protoiface"
	"google.golang.org/protobuf/types/dynamicpb"
)

// anyTypes are the types of a google.protobuf.Any in JSON: those of a schema, the well-known ones, and octets for all
// others. An Any that has octets and no type, or octets that are not of its type, is still an error.
type anyTypes struct{ *dynamicpb.Types }

// FindMessageByURL implements protojson.MarshalOptions.Resolver. The schema comes first: it can have a newer version of
// a well-known file.
func (t anyTypes) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	if found, err := t.Types.FindMessageByURL(url); err == nil {
		return found, nil
	}
	if found, err := knownTypes().FindMessageByURL(url); err == nil {
		return found, nil
	}
	value, err := knownTypes().FindMessageByName("google.protobuf.BytesValue")
	return rawType{value}, err
}

// knownTypes returns the types that messages can hold without a file of the user: those of googleapis, and those of
// google/protobuf.
var knownTypes = sync.OnceValue(func() *dynamicpb.Types {
	files := new(protoregistry.Files)
	for _, name := range []string{
		"any", "api", "descriptor", "duration", "empty", "field_mask", "source_context", "struct", "timestamp", "type",
		"wrappers",
	} {
		_ = files.RegisterFile(wellKnown("google/protobuf/" + name + ".proto")) // each name is there once
	}
	for _, f := range googleapis() {
		_ = files.RegisterFile(f)
	}
	return dynamicpb.NewTypes(files)
})

// rawType is google.protobuf.BytesValue, whose JSON is base64, with a message that takes any octets as its value.
type rawType struct{ protoreflect.MessageType }

func (t rawType) New() protoreflect.Message { return raw{dynamicpb.NewMessage(t.Descriptor())} }

type raw struct{ *dynamicpb.Message }

func (m raw) ProtoReflect() protoreflect.Message   { return m }
func (m raw) Interface() protoreflect.ProtoMessage { return m }
func (m raw) ProtoMethods() *protoiface.Methods {
	take := func(in protoiface.UnmarshalInput) (out protoiface.UnmarshalOutput, err error) {
		m.Set(m.Descriptor().Fields().ByName("value"), protoreflect.ValueOfBytes(in.Buf))
		return out, nil
	}
	return &protoiface.Methods{Unmarshal: take}
}
