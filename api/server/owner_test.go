package server

import (
	"encoding/json"
	"testing"

	"github.com/opmint/opmint/keygen"
)

// TestIntentsAreEachUsersOwn, and root's to look at.
func TestIntentsAreEachUsersOwn(t *testing.T) {
	s, _ := newServer(t, keygen.ClassH, 0)
	ask := func(uid uint32, method, target string) (int, string) {
		t.Helper()
		answer := s.serve(requestAs(caller{uid: uid}, method, target, ""))
		var got struct{ Name string }
		if answer.StatusCode < 300 && answer.StatusCode != 204 {
			if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
				t.Fatal(err)
			}
		}
		return answer.StatusCode, got.Name
	}
	for _, path := range []string{"/v1/intents/i", "/v1/streams/s/names/i"} {
		_, alice := ask(1000, "PUT", path)
		if status, bob := ask(1001, "PUT", path); status != 201 || bob == alice {
			t.Errorf("bob gets %d %s", status, bob)
		}
		if status, _ := ask(1001, "PUT", path+"?uid=1000"); status != 403 {
			t.Errorf("bob gets %d for what is alice's", status)
		}
		if status, _ := ask(1001, "PUT", path+"?uid=x"); status != 400 {
			t.Errorf("bob gets %d for what is nobody's", status)
		}
		for _, who := range []uint32{0, 1000} {
			if status, name := ask(who, "PUT", path+"?uid=1000"); status != 200 || name != alice {
				t.Errorf("user %d gets %d %s, want alice's %s", who, status, name, alice)
			}
		}
	}
	if status, _ := ask(1001, "DELETE", "/v1/intents/i?uid=1000"); status != 403 {
		t.Errorf("bob deletes alice's: %d", status)
	}
	if status, _ := ask(1001, "GET", "/v1/intents/j"); status != 404 {
		t.Errorf("%d", status)
	}
	if status, _ := ask(0, "DELETE", "/v1/intents/i?uid=1000"); status != 204 {
		t.Errorf("root deletes alice's: %d", status)
	}
	if status, _ := ask(1001, "GET", "/v1/intents/i"); status != 200 {
		t.Errorf("bob's own: %d", status)
	}
}
