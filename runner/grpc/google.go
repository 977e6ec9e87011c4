package grpc

import (
	"sync"

	"github.com/bufbuild/protocompile"
	"google.golang.org/genproto/googleapis/api"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// googleapis returns the files of googleapis that proto files import most, by the name of the import.
var googleapis = sync.OnceValue(func() map[string]protoreflect.FileDescriptor {
	out := map[string]protoreflect.FileDescriptor{}
	for _, f := range []protoreflect.FileDescriptor{
		annotations.File_google_api_annotations_proto,
		annotations.File_google_api_client_proto,
		annotations.File_google_api_field_behavior_proto,
		annotations.File_google_api_field_info_proto,
		annotations.File_google_api_http_proto,
		annotations.File_google_api_resource_proto,
		annotations.File_google_api_routing_proto,
		api.File_google_api_launch_stage_proto,
		httpbody.File_google_api_httpbody_proto,
		code.File_google_rpc_code_proto,
		errdetails.File_google_rpc_error_details_proto,
		status.File_google_rpc_status_proto,
	} {
		out[f.Path()] = f
	}
	return out
})

// wellKnown returns the file that an import means without a file of the user: one of googleapis or of google/protobuf.
// nil: there is none.
func wellKnown(name string) protoreflect.FileDescriptor {
	if f := googleapis()[name]; f != nil {
		return f
	}
	found, err := noFiles.FindFileByPath(name)
	if err != nil {
		return nil
	}
	return found.Desc
}

// noFiles finds the files of google/protobuf.
var noFiles = protocompile.WithStandardImports(&protocompile.SourceResolver{
	Accessor: protocompile.SourceAccessorFromMap(nil),
})

// withWellKnown returns a resolver of imports that takes well-known files if files has none of that name.
func withWellKnown(files protocompile.Resolver) protocompile.Resolver {
	return protocompile.ResolverFunc(func(name string) (protocompile.SearchResult, error) {
		found, err := files.FindFileByPath(name)
		if err != nil {
			if known := wellKnown(name); known != nil {
				return protocompile.SearchResult{Desc: known}, nil
			}
		}
		return found, err
	})
}

// addWellKnown adds the well-known files that files of a set import, and that the set does not have.
func addWellKnown(set *descriptorpb.FileDescriptorSet) {
	has := map[string]bool{}
	for _, f := range set.File {
		has[f.GetName()] = true
	}
	for i := 0; i < len(set.File); i++ { // set.File grows
		for _, name := range set.File[i].Dependency {
			if known := wellKnown(name); known != nil && !has[name] {
				has[name] = true
				set.File = append(set.File, proto.CloneOf(protodesc.ToFileDescriptorProto(known)))
			}
		}
	}
}
