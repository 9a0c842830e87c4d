package retry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Prepare checks that the server can carry the lane, claims the lane for this
// cluster and measures the server's clock. Once it has succeeded it costs nothing,
// until Lost finds that the server was emptied. An OwnedError is permanent; any
// other error may pass.
func (l *Lane) Prepare(ctx context.Context) error {
	if l.prepared.Load() {
		return nil
	}
	l.preparing.Lock()
	defer l.preparing.Unlock()
	if l.prepared.Load() {
		return nil
	}
	if err := l.inspect(ctx); err != nil {
		return err
	}
	if err := l.claim(ctx); err != nil {
		return err
	}
	if err := l.MeasureClock(ctx); err != nil {
		return err
	}
	l.prepared.Store(true)
	return nil
}

// inspect refuses a server that can't carry the lane.
func (l *Lane) inspect(ctx context.Context) error {
	about, err := l.info(ctx)
	if redis.IsPermissionError(err) {
		// Warnings says so.
		return nil
	}
	if err != nil {
		return err
	}
	if err := about.tooOld(); err != nil {
		return fmt.Errorf("the Redis server at %s can't carry the lane: %w", l.where, err)
	}
	if _, cluster := l.rdb.(*redis.ClusterClient); !cluster && about["redis_mode"] == "cluster" {
		return fmt.Errorf("the Redis server at %s is a node of a Redis Cluster; give REDIS_URL the scheme redis+cluster:// or rediss+cluster://", l.where)
	}
	return nil
}

// Warnings asks the server for settings that could lose entries, and returns
// sentences for the operator about them. It is for the time after Prepare: a
// server that doesn't answer gives no warning.
func (l *Lane) Warnings(ctx context.Context) []string {
	about, err := l.info(ctx)
	if redis.IsPermissionError(err) {
		return []string{"the Redis user of REDIS_URL may not run INFO, so that neither the server's version (6.2 or newer is needed) nor its maxmemory-policy (noeviction is needed) was checked"}
	}
	if err != nil {
		return nil
	}
	return about.warnings()
}

// info reads what the server says about itself.
func (l *Lane) info(ctx context.Context) (serverInfo, error) {
	ctx, cancel := l.call(ctx)
	defer cancel()
	node, err := l.node(ctx)
	if err != nil {
		return nil, l.failed(ctx, "finding the node that holds the lane", err)
	}
	text, err := node.Info(ctx).Result()
	if err != nil {
		return nil, l.failed(ctx, "reading INFO", err)
	}
	return parseInfo(text), nil
}

// serverInfo is the server's INFO, by field.
type serverInfo map[string]string

func parseInfo(text string) serverInfo {
	about := serverInfo{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			about[name] = value
		}
	}
	return about
}

// tooOld refuses servers without BLMOVE, ZADD LT and LPOS.
func (i serverInfo) tooOld() error {
	version := i["redis_version"]
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return fmt.Errorf("its version %q can't be read; the retry lane needs a server that says that it is Redis 6.2 or newer", version)
	}
	if major < 6 || major == 6 && minor < 2 {
		return fmt.Errorf("its version is %s; the retry lane needs 6.2 or newer", version)
	}
	return nil
}

func (i serverInfo) warnings() []string {
	var w []string
	// The volatile policies drop only keys that expire, and none of the lane's does.
	if policy := i["maxmemory_policy"]; strings.HasPrefix(policy, "allkeys-") {
		w = append(w, fmt.Sprintf("Redis drops retries and dead letters when its memory is full, since its maxmemory-policy is %s; set it to noeviction", policy))
	}
	return w
}

// OwnedError says whose the lane is. It is an ErrOwned.
type OwnedError struct {
	// Key is the owner key; Owner is whom it names, Want whom it should name.
	Key, Owner, Want string
}

// Error says which setting to change.
func (e *OwnedError) Error() string {
	return fmt.Sprintf("the retry lane belongs to cluster %q by the Redis key %q, not to cluster %q: give each cluster names of its own by --retry-key and --dead-letter-key (or delete that key, if cluster %q is gone for good)",
		e.Owner, e.Key, e.Want, e.Owner)
}

// Is makes an OwnedError an ErrOwned.
func (e *OwnedError) Is(target error) bool { return target == ErrOwned }

// claim makes the lane this cluster's, unless it is another's.
func (l *Lane) claim(ctx context.Context) error {
	ctx, cancel := l.call(ctx)
	defer cancel()
	other, err := claimScript.Run(ctx, l.rdb, []string{l.keys.owner, l.keys.deadOwner}, l.owner).StringSlice()
	if err != nil {
		return l.failed(ctx, fmt.Sprintf("claiming the retry lane %q", l.keys.waiting), err)
	}
	if len(other) == 2 {
		return &OwnedError{Key: other[0], Owner: other[1], Want: l.owner}
	}
	return nil
}

// Lost tells, by one command, that the server was emptied: it doesn't know any
// more whose the lane is. The next Prepare claims the lane anew. If it belongs to
// another cluster by now, that is an OwnedError.
func (l *Lane) Lost(ctx context.Context) (bool, error) {
	ctx, cancel := l.call(ctx)
	defer cancel()
	owner, err := l.rdb.Get(ctx, l.keys.owner).Result()
	switch {
	case errors.Is(err, redis.Nil):
		l.prepared.Store(false)
		return true, nil
	case err != nil:
		return false, l.failed(ctx, fmt.Sprintf("reading whose the retry lane %q is", l.keys.waiting), err)
	case owner != l.owner:
		l.prepared.Store(false)
		return false, &OwnedError{Key: l.keys.owner, Owner: owner, Want: l.owner}
	}
	return false, nil
}
