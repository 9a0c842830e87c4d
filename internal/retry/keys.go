package retry

import (
	"errors"
	"fmt"
	"strings"
)

// keys are all the names that a lane touches. They all begin with one of the two
// names that the operator chose.
type keys struct {
	// waiting is the list that producers append to.
	waiting string
	// parked holds entries by due time, leased those in hand by the end of their
	// lease; both in milliseconds since 1970.
	parked, leased string
	// owner says whose the lane is, deadOwner whose the dead letters are.
	owner, deadOwner string
	// dead is the list for people, deadIndex a hash from what stands there to
	// its bytes.
	dead, deadIndex string
}

func newKeys(retryKey, deadLetterKey string) (keys, error) {
	if retryKey == "" || deadLetterKey == "" {
		return keys{}, errors.New("the retry list and the dead-letter list need names; set --retry-key and --dead-letter-key")
	}
	k := keys{
		waiting: retryKey, parked: retryKey + ":parked", leased: retryKey + ":leased", owner: retryKey + ":owner",
		dead: deadLetterKey, deadIndex: deadLetterKey + ":index", deadOwner: deadLetterKey + ":owner",
	}
	seen := map[string]bool{}
	for _, name := range []string{k.waiting, k.parked, k.leased, k.owner, k.dead, k.deadIndex, k.deadOwner} {
		if seen[name] {
			return keys{}, fmt.Errorf("the retry list %q and the dead-letter list %q would both use the key %q; set --retry-key or --dead-letter-key to another name",
				retryKey, deadLetterKey, name)
		}
		seen[name] = true
	}
	return k, nil
}

// inOneSlot refuses names that a Redis Cluster would keep in several places,
// since a script works in one place only. Names without a tag don't do: the keys
// that derive from them are spread.
func (k keys) inOneSlot() error {
	if tag := hashTag(k.waiting); tag == "" || tag != hashTag(k.dead) {
		return fmt.Errorf("on a Redis Cluster both lists need one hash tag in common, and %q and %q have none; set --retry-key and --dead-letter-key to names such as {jobs}:retry and {jobs}:dead-letter",
			k.waiting, k.dead)
	}
	return nil
}

// hashTag returns the part of a name that decides where a Redis Cluster keeps
// it, "" if that is the whole name.
func hashTag(name string) string {
	_, rest, found := strings.Cut(name, "{")
	if !found {
		return ""
	}
	tag, _, found := strings.Cut(rest, "}")
	if !found {
		return ""
	}
	return tag
}
