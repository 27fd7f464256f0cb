// Passes passes the points one and two five times.
package main

import (
	"fmt"

	"logstow/internal/crashpoint"
)

func main() {
	for i := range 5 {
		crashpoint.Here("one")
		fmt.Println(i)
		crashpoint.Here("two")
	}
}
