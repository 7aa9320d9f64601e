"""The values everything else passes around: frozen, validated, digestible. No I/O beyond reading
and writing a pack directory."""
