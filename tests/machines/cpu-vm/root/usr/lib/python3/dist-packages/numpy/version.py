full_version = '1.24.2'
__version__ = '1.24.2'
