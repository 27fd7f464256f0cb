package cli

import (
	"flag"
	"fmt"
	"os"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"logstow/internal/list"
)

// ListFlag is a flag that may be repeated: its values accumulate. They are taken as typed,
// including blanks. [List] returns them.
type ListFlag struct {
	// Name, Aliases, Category, Usage and DefaultText are as in the flags of urfave/cli.
	Name, Category, Usage, DefaultText string
	Aliases                            []string
	// EnvVars are environment variables with one value, used if the flag is not given.
	EnvVars []string
	// Commas is set if a value is itself a list: commas outside quotes and brackets separate its
	// items, blanks around an item are removed.
	Commas bool
	// AllowEmpty is set if the empty value is valid.
	AllowEmpty bool

	fromEnv bool
}

// String is the flag's name, as on a command line.
func (f *ListFlag) String() string { return Dashed(f.Name) }

// Names are the name and the aliases.
func (f *ListFlag) Names() []string { return append([]string{f.Name}, f.Aliases...) }

// IsSet reports whether an environment variable provided a value.
func (f *ListFlag) IsSet() bool { return f.fromEnv }

// IsVisible is true: the help shows the flag.
func (f *ListFlag) IsVisible() bool { return true }

// TakesValue is true.
func (f *ListFlag) TakesValue() bool { return true }

// GetUsage is the usage with the `PLACEHOLDER` in it.
func (f *ListFlag) GetUsage() string { return f.Usage }

// GetCategory is the heading under which the help shows the flag.
func (f *ListFlag) GetCategory() string { return f.Category }

// GetValue returns the text of the default, which is empty.
func (f *ListFlag) GetValue() string { return "" }

// GetDefaultText describes the default, "" if the usage does.
func (f *ListFlag) GetDefaultText() string { return f.DefaultText }

// GetEnvVars returns the environment variables of the flag.
func (f *ListFlag) GetEnvVars() []string { return f.EnvVars }

// Apply adds the flag to a set under its name alone: [Permute] replaces aliases.
func (f *ListFlag) Apply(set *flag.FlagSet) error {
	v := &listValue{commas: f.Commas}
	f.fromEnv = false
	for _, name := range f.EnvVars {
		if text := os.Getenv(name); text != "" && !f.fromEnv { //nolint:forbidigo // as the flags of urfave/cli do
			if err := v.Set(text); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			v.replace, f.fromEnv = true, true
		}
	}
	set.Var(v, f.Name, f.Usage)
	return nil
}

// List returns the values of a [ListFlag] in the order of the command line.
func List(c *ucli.Context, name string) []string {
	if v, ok := c.Generic(name).(*listValue); ok {
		return v.values
	}
	return nil
}

// listValue gathers the values of a ListFlag.
type listValue struct {
	values  []string
	commas  bool
	replace bool // the values are the environment's
}

func (v *listValue) String() string { return strings.Join(v.values, ", ") }

func (v *listValue) Set(text string) error {
	items := []string{text}
	if v.commas {
		var err error
		if items, err = list.Texts(text); err != nil {
			return err
		}
	}
	if v.replace {
		v.values, v.replace = nil, false
	}
	v.values = append(v.values, items...)
	return nil
}

// Dashed is a flag's name as typed.
func Dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
