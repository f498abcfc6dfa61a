package main

import (
	"net"
	"syscall"
)

// networkDisks are file systems for which locks and syncs depend on another machine or
// on a program, by their magic numbers (statfs(2)).
var networkDisks = map[int64]string{
	0x01021994: "tmpfs", 0x858458f6: "tmpfs", // ramfs
	0x6969: "nfs", 0xff534d42: "cifs", 0xfe534d42: "smb", 0x01021997: "9p", 0x65735546: "fuse",
}

// lookAtDisk tells on what a folder lies.
func lookAtDisk(dir string) disk {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return disk{err: err}
	}
	const readOnly = 1 // ST_RDONLY
	return disk{
		kind: networkDisks[int64(s.Type)], readOnly: s.Flags&readOnly != 0, free: s.Bavail * uint64(s.Bsize),
	}
}

// clockSynced returns whether somebody sets the machine's clock right, as adjtimex(2)
// knows it; nil if it cannot be asked.
func clockSynced() *bool {
	const timeError = 5 // TIME_ERROR: the clock is not synchronized
	state, err := syscall.Adjtimex(&syscall.Timex{})
	if err != nil {
		return nil
	}
	return new(state != timeError)
}

// listener returns the process that listens where conn leads, and whose it is; pid is 0
// if that is not known.
func listener(conn *net.UnixConn) (pid, uid int) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, 0
	}
	_ = raw.Control(func(fd uintptr) {
		if peer, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			pid, uid = int(peer.Pid), int(peer.Uid)
		}
	})
	return pid, uid
}
