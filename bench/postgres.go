package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgres is a PostgreSQL of our own, with all settings at their defaults, on a
// Unix socket.
type postgres struct {
	dir    string // with the socket and the data
	server *process
}

// postgresUser is whom root runs it as: it does not run as root.
const postgresUser = "postgres"

// startPostgres makes a database in a new folder in dir and serves it there. On an
// error, too, what it returns is to be stopped.
func startPostgres(ctx context.Context, dir string) (p *postgres, err error) {
	p = &postgres{dir: filepath.Join(dir, "postgres")}
	bin, err := postgresBin()
	if err != nil {
		return p, err
	}
	who, err := p.makeFolder()
	if err != nil {
		return p, err
	}
	data := filepath.Join(p.dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "--auth", "trust", "--username", postgresUser, data)
	initdb.Dir, initdb.SysProcAttr = p.dir, &syscall.SysProcAttr{Credential: who}
	if out, err := initdb.CombinedOutput(); err != nil {
		return p, fmt.Errorf("%v: %w: %s", initdb, err, out)
	}
	cmd := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", p.dir, "-c", "listen_addresses=")
	cmd.Dir, cmd.SysProcAttr = p.dir, &syscall.SysProcAttr{Credential: who}
	if p.server, err = spawnCommand(cmd); err != nil {
		return p, err
	}
	return p, p.wait(ctx)
}

// postgresBin returns where Debian puts the newest version's programs.
func postgresBin() (string, error) {
	all, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(all) == 0 {
		return "", errors.New("there is no PostgreSQL: it is in the package postgresql")
	}
	version := func(bin string) float64 {
		v, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(bin)), 64) // 0 is older than all
		return v
	}
	return slices.MaxFunc(all, func(a, b string) int { return cmp.Compare(version(a), version(b)) }), nil
}

// makeFolder makes the folder and returns as whom to run, nil for as we are.
func (p *postgres) makeFolder() (*syscall.Credential, error) {
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(postgresUser)
	if err != nil {
		return nil, err
	}
	uid, uidErr := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	if err := errors.Join(uidErr, gidErr, os.Chmod(filepath.Dir(p.dir), 0o711), os.Chown(p.dir, int(uid), int(gid))); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// connect opens a connection.
func (p *postgres) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, fmt.Sprintf("host=%s user=%s dbname=postgres", p.dir, postgresUser))
}

// wait waits until it answers.
func (p *postgres) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		c, err := p.connect(ctx)
		if err == nil {
			return c.Close(ctx)
		}
		select {
		case <-time.After(askTime):
		case <-p.server.ended:
			return fmt.Errorf("PostgreSQL has ended: %w: %s", p.server.err, bytes.TrimSpace(p.server.said.Bytes()))
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL does not answer: %w", err)
		}
	}
}

// stop ends it at once, as its documentation says for SIGQUIT.
func (p *postgres) stop() {
	if p.server != nil {
		_ = p.server.cmd.Process.Signal(syscall.SIGQUIT) // fails if it is gone
		<-p.server.ended
	}
}
