// Command etcd is the etcd server of the development stack, at the version that
// this module pins. It adds nothing to the server and takes nothing away.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
