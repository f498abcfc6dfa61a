package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// follow notes in the log what signals do, until the function that it returns is
// called. The signal that ends ctx has been noted by then; the next of its kind ends
// the process at once.
func (d *daemon) follow(ctx context.Context) (end func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	noted, ended := make(chan struct{}), make(chan struct{})
	stopping := context.AfterFunc(ctx, func() {
		defer close(noted)
		signal.Reset(syscall.SIGTERM, syscall.SIGINT)
		d.log.Info("stopping: what is under way is finished; another signal ends it at once", "reason", context.Cause(ctx))
	})
	go func() {
		for {
			select {
			case <-hangups:
				d.log.Info("SIGHUP changes nothing: options are read at the start; start the daemon again to change them")
			case <-ended:
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		signal.Ignore(syscall.SIGHUP)
		close(ended)
		if !stopping() {
			<-noted
		}
	})
}
