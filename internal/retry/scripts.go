package retry

import (
	_ "embed" // for the scripts

	"github.com/redis/go-redis/v9"
)

// Each script stands in a file of its own, with its KEYS and ARGV above it. It is
// sent by its digest, and whole to a server that doesn't know it (any more).
var (
	//go:embed scripts/claim.lua
	claimLua string
	//go:embed scripts/take.lua
	takeLua string
	//go:embed scripts/release.lua
	releaseLua string
	//go:embed scripts/flush.lua
	flushLua string
	//go:embed scripts/bury.lua
	buryLua string
	//go:embed scripts/dead_letter.lua
	deadLetterLua string
	//go:embed scripts/remove_dead_letter.lua
	removeDeadLetterLua string

	claimScript            = redis.NewScript(claimLua)
	takeScript             = redis.NewScript(takeLua)
	releaseScript          = redis.NewScript(releaseLua)
	flushScript            = redis.NewScript(flushLua)
	buryScript             = redis.NewScript(buryLua)
	deadLetterScript       = redis.NewScript(deadLetterLua)
	removeDeadLetterScript = redis.NewScript(removeDeadLetterLua)
)
