package collect

import "github.com/h2surge/h2surge/controllers/internal/transport"

// The names of other packages in the API of a Registry.
type (
	Client = transport.Client
	Poll   = transport.Poll
)

// HTTPS and ErrConflict are those of package transport.
var (
	HTTPS       = transport.HTTPS
	ErrConflict = transport.ErrConflict
)
