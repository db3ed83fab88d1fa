"""What became of one execution: numbers compared, an exception or a death named, the message made comparable."""
