package retry

import (
	_ "embed" // for the scripts

	"github.com/redis/go-redis/v9"
)

// The scripts stand in files of their own, each with its KEYS and ARGV above it. They are sent by digest, and whole again to
// a server that forgot them.
var (
	//go:embed scripts/take.lua
	takeLua string
	//go:embed scripts/release.lua
	releaseLua string
	//go:embed scripts/bury.lua
	buryLua string
	//go:embed scripts/dead_letter.lua
	deadLetterLua string
	//go:embed scripts/remove_dead_letter.lua
	removeDeadLetterLua string
	//go:embed scripts/flush.lua
	flushLua string

	takeScript             = redis.NewScript(takeLua)
	releaseScript          = redis.NewScript(releaseLua)
	buryScript             = redis.NewScript(buryLua)
	deadLetterScript       = redis.NewScript(deadLetterLua)
	removeDeadLetterScript = redis.NewScript(removeDeadLetterLua)
	flushScript            = redis.NewScript(flushLua)
)
