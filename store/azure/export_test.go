package azure

// DecodeEnumeration is for the test that storage writes what it knows.
var DecodeEnumeration = decodeEnumeration
