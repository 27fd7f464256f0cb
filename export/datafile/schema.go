package datafile

import (
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// The parts of the map of attributes, as the format names them.
const (
	pairName  = "key_value"
	keyName   = "key"
	valueName = "value"
)

// schema returns the schema of a file, depth first: message is first, since its pages are written before those of others.
func schema(named []Named) []format.SchemaElement {
	all := []format.SchemaElement{
		{Name: "logstow", NumChildren: thrift.New(int32(8 + len(named)))},
		stringElement(messageColumn, format.Required),
		element(timeColumn, format.Required, format.Int64),
		element(nanosColumn, format.Required, format.Int64),
		stringElement(serviceColumn, format.Required),
		stringElement(levelColumn, format.Optional),
		stringElement(instanceColumn, format.Optional),
		stringElement(sourceColumn, format.Optional),
		{
			Name: attributesColumn, RepetitionType: thrift.New(format.Optional), NumChildren: thrift.New(int32(1)),
			ConvertedType: thrift.New(deprecated.Map), LogicalType: format.LogicalType{Value: new(format.MapType)},
		},
		{Name: pairName, RepetitionType: thrift.New(format.Repeated), NumChildren: thrift.New(int32(2))},
		stringElement(keyName, format.Required),
		stringElement(valueName, format.Optional),
	}
	all[2].ConvertedType = thrift.New(deprecated.TimestampMicros)
	all[2].LogicalType.Value = &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: new(format.MicroSeconds)}}
	for _, n := range named {
		switch n.Kind {
		case Integer:
			all = append(all, element(n.Column, format.Optional, format.Int64))
		case Number:
			all = append(all, element(n.Column, format.Optional, format.Double))
		default:
			all = append(all, stringElement(n.Column, format.Optional))
		}
	}
	return all
}

func element(name string, repetition format.FieldRepetitionType, kind format.Type) format.SchemaElement {
	return format.SchemaElement{Name: name, RepetitionType: thrift.New(repetition), Type: thrift.New(kind)}
}

func stringElement(name string, repetition format.FieldRepetitionType) format.SchemaElement {
	e := element(name, repetition, format.ByteArray)
	e.ConvertedType, e.LogicalType.Value = thrift.New(deprecated.UTF8), new(format.StringType)
	return e
}
