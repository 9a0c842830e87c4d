package retry

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// address is where the lane's server is, as the URL says.
type address struct {
	// one is set for a single server, nodes for a Redis Cluster.
	one   *redis.Options
	nodes *redis.ClusterOptions
	// where is for messages; it holds no password.
	where string
}

// readAddress reads a URL: redis://, rediss:// or unix:// for a single server;
// redis+cluster:// or rediss+cluster://, or a query parameter addr that names
// another node, for a Redis Cluster.
func readAddress(raw string, timeout time.Duration) (address, error) {
	if raw == "" {
		return address{}, errors.New("no Redis URL; give one such as redis://host:6379/0")
	}
	u, err := url.Parse(raw)
	if err != nil || spilt(u) {
		// The parser's message quotes the URL, which can hold a password.
		return address{}, errors.New("the Redis URL can't be read; it should look like redis://user:password@host:6379/0, with special characters in the password percent-encoded")
	}
	scheme, cluster := strings.CutSuffix(u.Scheme, "+cluster")
	if cluster || u.Query().Has("addr") {
		u.Scheme = scheme
		o, err := redis.ParseClusterURL(u.String())
		if err != nil {
			return address{}, fmt.Errorf("the Redis Cluster URL can't be used: %w", err)
		}
		o.ContextTimeoutEnabled = true
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout = timeout, timeout, timeout
		o.MaintNotificationsConfig = quiet()
		return address{nodes: o, where: strings.Join(o.Addrs, ",")}, nil
	}
	o, err := redis.ParseURL(raw)
	if err != nil {
		return address{}, fmt.Errorf("the Redis URL can't be used: %w", err)
	}
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = timeout, timeout, timeout
	o.MaintNotificationsConfig = quiet()
	return address{one: o, where: fmt.Sprintf("%s/%d", o.Addr, o.DB)}, nil
}

// spilt tells that a password can have spilt over into parts of the URL that messages
// quote: a character such as / or # in it ends the part that holds it.
func spilt(u *url.URL) bool {
	if strings.HasPrefix(u.Scheme, "unix") {
		return false
	}
	query, err := url.QueryUnescape(u.RawQuery)
	return err != nil || strings.Contains(u.Path+query+u.Fragment, "@")
}

// quiet switches off notices that only one vendor's servers send.
func quiet() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// client makes a client for commands that are answered at once.
func (a address) client() redis.UniversalClient {
	if a.nodes != nil {
		o := *a.nodes
		return redis.NewClusterClient(&o)
	}
	o := *a.one
	return redis.NewClient(&o)
}

// blockingClient makes a client whose one connection may be held by a command
// that blocks, so that it never takes one from the others.
func (a address) blockingClient() redis.UniversalClient {
	if a.nodes != nil {
		o := *a.nodes
		o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns, o.PipelinePoolSize = 1, 0, 0, 0, -1
		return redis.NewClusterClient(&o)
	}
	o := *a.one
	o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns, o.PipelinePoolSize, o.MaxRetries = 1, 0, 0, 0, -1, -1
	return redis.NewClient(&o)
}
